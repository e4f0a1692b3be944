"""``import eaglecfg``: small, lazy, typed, and of one mind with the command line."""

from __future__ import annotations

import ast
import doctest
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

import eaglecfg
import eaglecfg.api
from eaglecfg.cli.main import run
from eaglecfg.rules.examples import materialize

ROOT = Path(__file__).parents[2]


def test_every_example_of_the_page_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    page = str(ROOT / "docs" / "python-api.md")
    failed, tried = doctest.testfile(page, module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert tried > 20
    assert failed == 0


def test_the_import_loads_nothing_of_it() -> None:
    code = (
        "import eaglecfg, sys; eaglecfg.__version__; "
        "print([name for name in sys.modules if 'eaglecfg' in name or name == 'yaml'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "['eaglecfg']"


def test_stub_page_and_module_name_the_same() -> None:
    names = set(eaglecfg.api.__all__)
    assert names == eaglecfg._API
    assert names <= set(dir(eaglecfg))
    stub = ast.parse((ROOT / "eaglecfg" / "__init__.pyi").read_text(encoding="utf-8"))
    imported = {
        alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert imported == names
    for name in names:
        assert getattr(eaglecfg, name) is getattr(eaglecfg.api, name)
    assert (ROOT / "eaglecfg" / "py.typed").exists()


def test_a_name_that_is_none() -> None:
    with pytest.raises(AttributeError, match="no attribute 'valdiate'"):
        eaglecfg.valdiate  # type: ignore[attr-defined]  # noqa: B018


def test_the_report_is_that_of_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    materialize({"deployment": {"capture": {"trained_boundaries": [2, 5, 8]}}}, tmp_path)
    monkeypatch.chdir(tmp_path)
    code = run(["validate", "--format", "json"])
    printed = json.loads(capsys.readouterr().out)
    report = eaglecfg.validate("eaglecfg.yaml")
    data = json.loads(json.dumps(report.as_dict(), default=str))
    assert data == printed
    assert report.exit_code() == code == 1
    assert report.exit_code("info") == 1
    schema = json.loads((ROOT / "schemas" / "report.schema.json").read_text(encoding="utf-8"))
    Draft7Validator(schema).validate(data)
    (error,) = (each for each in report.findings if each.severity == "error")
    assert (error.rule, error.deployment, error.engine_today) == ("EC201", "chat", "silent")
    assert repr(report).startswith("Report(error EC201")


def test_a_loaded_config_stays_as_it_was_read(tmp_path: Path) -> None:
    path = materialize({}, tmp_path)
    config = eaglecfg.load(path)
    path.write_text("a: [", encoding="utf-8")
    assert eaglecfg.validate(config).ok
    assert eaglecfg.trace(config).captured == (3, 6, 9)
    assert eaglecfg.validate(path).exit_code() == 2
    assert len(config._checkpoints.read) == 2, "read once for all"


def test_names_of_rules_and_deployments_may_stand_alone(tmp_path: Path) -> None:
    path = materialize({"deployment": {"capture": {"trained_boundaries": [2, 5, 8]}}}, tmp_path)
    assert [each.rule for each in eaglecfg.validate(path, select="EC201").findings] == ["EC201"]
    assert eaglecfg.validate(path, ignore=["EC201"], deployments="chat").ok
    assert eaglecfg.validate([path, path.parent / "eaglecfg.yaml"], select=["EC2"]).exit_code() == 1


def test_what_is_handed_out_can_be_put_into_sets(tmp_path: Path) -> None:
    path = materialize({"deployment": {"capture": {"trained_boundaries": [2, 5, 8]}}}, tmp_path)
    config = eaglecfg.load(path)
    first, again = eaglecfg.validate(config), eaglecfg.validate(config)
    assert len({*first.findings, *again.findings}) == len(first.findings) > 0
    assert len({*first.not_checked, *again.not_checked}) == len(set(first.not_checked))
    trace, resolution = eaglecfg.trace(config), eaglecfg.resolve(config)
    given = [*first.findings, *trace.hops, *resolution.settings.values(), config, first, trace, resolution]
    assert all(isinstance(hash(each), int) for each in given)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda path: eaglecfg.load(path / "gone.yaml"), "none; check the path"),
        (lambda path: eaglecfg.load(path), "this is a folder"),
        (lambda path: eaglecfg.load(path / "study.yaml"), "is a study file"),
        (lambda path: eaglecfg.validate([]), "no file to check"),
        (lambda path: eaglecfg.load(None), "a path is expected, as text or a pathlib.Path, got NoneType"),
        (lambda path: eaglecfg.load(b"y.yaml"), "got bytes: b'y.yaml'"),
        (lambda path: eaglecfg.load(5), "got int: 5"),
        (lambda path: eaglecfg.load([path]), "got list"),
        (lambda path: eaglecfg.validate(None), "got NoneType"),
        (lambda path: eaglecfg.validate(b"y.yaml"), "got bytes"),
        (lambda path: eaglecfg.validate([path / "eaglecfg.yaml", None]), "got NoneType"),
        (lambda path: eaglecfg.trace(None), "got NoneType"),
        (lambda path: eaglecfg.resolve(b"y.yaml"), "got bytes"),
        (lambda path: eaglecfg.validate(path / "eaglecfg.yaml", select=None), "a name is expected"),
        (lambda path: eaglecfg.validate(path / "eaglecfg.yaml", ignore=[5]), "got int: 5"),
        (lambda path: eaglecfg.validate(path / "eaglecfg.yaml", deployments=b"a"), "a name is expected"),
        (lambda path: eaglecfg.trace(path / "eaglecfg.yaml", b"chat"), "no deployment b'chat'"),
        (lambda path: eaglecfg.validate(path / "eaglecfg.yaml").exit_code(None), "got None"),
        (lambda path: eaglecfg.validate(path / "eaglecfg.yaml", select=["EC999"]), "there is no rule"),
        (lambda path: eaglecfg.validate(path / "eaglecfg.yaml", online=True), "os.environ"),
        (lambda path: eaglecfg.validate(path / "eaglecfg.yaml").exit_code("fatal"), "got 'fatal'"),
        (lambda path: eaglecfg.trace(path / "eaglecfg.yaml", "nobody"), "no deployment 'nobody'"),
        (lambda path: eaglecfg.resolve(path / "other.yaml"), "names no engine whose facts are known"),
        (lambda path: eaglecfg.trace(path / "empty.yaml"), "has 0 deployments (none)"),
    ],
)  # fmt: skip
def test_errors_are_one_sentence(call: object, words: str, tmp_path: Path) -> None:
    materialize({"study": {}}, tmp_path)
    text = (tmp_path / "eaglecfg.yaml").read_text(encoding="utf-8")
    (tmp_path / "other.yaml").write_text(text.replace("sglang", "other"), encoding="utf-8")
    (tmp_path / "empty.yaml").write_text("", encoding="utf-8")
    with pytest.raises(eaglecfg.EaglecfgError) as error:
        call(tmp_path)  # type: ignore[operator]
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_hub_ids_are_read_where_the_environment_says(tmp_path: Path) -> None:
    path = materialize({"deployment": {"target": {"checkpoint": "org/target"}}}, tmp_path)
    environment = {"HF_HOME": str(tmp_path / "cache")}
    report = eaglecfg.validate(path, environment=environment)
    assert report.exit_code() != 0
    assert "HF_HOME" not in os.environ or os.environ["HF_HOME"] != environment["HF_HOME"]


def test_python_m_eaglecfg_is_the_command(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "eaglecfg", "--version"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"eaglecfg {eaglecfg.__version__}\n"


def test_settings_are_asked_for_as_people_write_them(tmp_path: Path) -> None:
    resolution = eaglecfg.resolve(materialize({"deployment": {"server": {"page_size": 2}}}, tmp_path))
    assert isinstance(resolution, eaglecfg.Resolution)
    assert {resolution.runs(name) for name in ("page_size", "page-size", "--page-size")} == {2}
    assert resolution.get("nope").origin == "unknown"
    assert "has no such setting" in resolution.get("--no-pe").why
    assert resolution.get("port").origin == "default"
    assert resolution.get("draft.dtype").origin == "asked"
    assert repr(resolution).startswith(("Resolution(", "_Answers("))
    assert "page_size" in repr(resolution)


def test_what_is_loaded_cannot_be_changed(tmp_path: Path) -> None:
    config = eaglecfg.load(materialize({}, tmp_path))
    with pytest.raises(TypeError):
        config.deployments["more"] = config.deployments["chat"]  # type: ignore[index]
    assert pickle.loads(pickle.dumps(config)).deployments == config.deployments
    with pytest.raises(ValueError, match="frozen"):
        config.deployments["chat"].parallel.tp_size = 4
    with pytest.raises(AttributeError):
        config.engine = "sglang 0.5.9"  # type: ignore[misc]
