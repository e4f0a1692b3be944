"""``eaglecfg diff``: what is read alike is no change in effect, however it is spelled; what is read otherwise
is one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.cli.main import run
from eaglecfg.record import replace
from eaglecfg.review.fix import fix
from eaglecfg.rules.examples import answer_of, materialize, read_docs
from eaglecfg.rules.model import Rule
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.registry import ALL_RULES
from eaglecfg.rules.runner import validate
from eaglecfg.source.read import read_document

CONFIG = """\
version: 1
engine: {name: sglang, version: 0.5.23}
deployments:
  chat:
    target: {checkpoint: target}
    parallel: {tp_size: 2}
"""


def _of(kind: str, name: str, value: str | None) -> str:
    return "" if value is None else f"    {kind}: {{{name}: {value}}}\n"


def _diff(folder: Path, before: str, after: str, *options: str) -> int:
    for name, text in (("a.yaml", before), ("b.yaml", after)):
        (folder / name).write_text(f"{CONFIG}{text}", encoding="utf-8")
    return run(["diff", str(folder / "a.yaml"), str(folder / "b.yaml"), "--exit-code", *options])


ALIKE = [
    ("env", "NCCL_P2P_DISABLE", '"false"', '"0"'),
    ("env", "NCCL_BUFFSIZE", "4194304", '"0x400000"'),
    ("env", "NCCL_ALGO", "ring", "Ring"),
    ("env", "NCCL_ALGO", '"ring,tree"', '"Tree,Ring"'),
    ("env", "NCCL_DEBUG", "info", "INFO"),
    ("server", "mem_fraction_static", '"0.8"', "0.8"),
    ("server", "json_model_override_args", """'{"a": {"c": 1, "b": 2}}'""", """'{"a":{"b":2,"c":1}}'"""),
    ("server", "json_model_override_args", """'{"a": 1}'""", "{a: 1}"),
    ("hardware", "gpu_memory", "80 GiB", "81920MiB"),
]
OTHERWISE = [
    ("env", "NCCL_P2P_DISABLE", '"true"', '"1"'),  # NCCL reads 0 of a word
    ("env", "NCCL_P2P_DISABLE", '"false"', '"1"'),
    ("env", "NCCL_P2P_DISABLE", '"1"', None),
    ("env", "NCCL_BUFFSIZE", "4194304", '"0x400001"'),
    ("env", "NCCL_ALGO", "Ring", "Tree"),
    ("env", "NCCL_ALGO", "Ring", "Rings"),
    ("env", "NCCL_ALGO", "Ring", '"allreduce:Ring"'),
    ("env", "NCCL_ALGO", '"${X}"', '"${Y}"'),
    ("env", "SGLANG_ANYTHING", '"true"', '"1"'),  # nothing tells how it is read
    ("env", "NCCL_NO_SUCH_THING", '"1"', '"01"'),
    ("server", "mem_fraction_static", '"0.8"', "0.81"),
    ("server", "max_running_requests", "16", "16.0"),  # the engine takes no such number
    ("server", "served_model_name", """'{"a": 1}'""", """'{"a":1}'"""),  # a text, whatever it looks like
    ("server", "json_model_override_args", """'{"a": 1}'""", """'{"a": true}'"""),
    ("server", "json_model_override_args", """'{"a": 1}'""", """'{"a": 1.0}'"""),
    ("server", "json_model_override_args", """'{"a": [1, 2]}'""", """'{"a": [2, 1]}'"""),
    ("hardware", "gpu_memory", "80 GiB", "80 GB"),
    ("hardware", "gpu_memory", "80 GiB", None),
]


@pytest.mark.parametrize(("kind", "name", "before", "after"), ALIKE)
def test_another_spelling_is_shown_and_does_not_count(
    kind: str, name: str, before: str, after: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = _of(kind, name, before), _of(kind, name, after)
    for sides in ((one, other), (other, one)):
        assert _diff(tmp_path, *sides, "--format", "json") == 0
        data = json.loads(capsys.readouterr().out)
        assert data["summary"]["changes_in_effect"] is False
        (deployment,) = data["files"][0]["deployments"]
        assert deployment["kind"] == "same"
        assert [each["name"].removeprefix("hardware.") for each in deployment["changes"]] == [name]
    for form in ("text", "markdown"):
        assert _diff(tmp_path, one, other, "--format", form) == 0
        said = " ".join(capsys.readouterr().out.replace("\\", "").split())
        assert name in said
        assert "1 deployment has another" in said
        assert "and the same effect" in said
        assert "no change in effect, another" in said


@pytest.mark.parametrize(("kind", "name", "before", "after"), OTHERWISE)
def test_another_value_counts(
    kind: str,
    name: str,
    before: str,
    after: str | None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    one, other = _of(kind, name, before), _of(kind, name, after)
    for sides in ((one, other), (other, one)):
        _diff(tmp_path, *sides, "--format", "json")
        data = json.loads(capsys.readouterr().out)
        assert data["summary"]["changes_in_effect"] is True
        assert data["files"][0]["deployments"][0]["kind"] == "changed"


def test_another_spelling_beside_another_value_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = '    env: {NCCL_P2P_DISABLE: "false", NCCL_ALGO: Ring}\n'
    after = '    env: {NCCL_P2P_DISABLE: "0", NCCL_ALGO: Tree}\n'
    assert _diff(tmp_path, before, after) == 1
    said = capsys.readouterr().out
    assert "NCCL_P2P_DISABLE: false → 0, no change in effect" in said
    assert "NCCL_ALGO: Ring → Tree\n" in said


def _may_be_safe(rule: Rule) -> bool:
    text = Path(rule.check.__globals__["__file__"]).read_text("utf-8")
    return "safe=" in text or "respell_variable(" in text


EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.id}-{number}")
    for rule in ALL_RULES
    if _may_be_safe(rule)
    for number, example in enumerate(read_docs(rule).failing)
]


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_a_safe_fix_is_no_change_in_effect(
    rule: Rule, example: Mapping[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [materialize(example, tmp_path)]
    if (tmp_path / "study.yaml").exists():
        paths.append(tmp_path / "study.yaml")
    documents, says = [read_document(path) for path in paths], answer_of(example)

    def check(now: Any) -> Report:
        report = validate(now, ask=lambda _: says)
        return replace(report, findings=tuple(one for one in report.findings if one.rule.id == rule.id))

    fixed = fix(documents, check)
    for old, new in zip(documents, fixed.documents, strict=True):
        if old.text == new.text:
            continue
        after = Path(old.name).with_name(f"fixed-{Path(old.name).name}")
        after.write_text(new.text, encoding="utf-8")
        run(["diff", old.name, str(after), "--format", "json"])
        data = json.loads(capsys.readouterr().out)
        differing = [
            (each["kind"], [change["name"] for change in each["changes"]])
            for file in data["files"]
            for each in file["deployments"]
            if each["kind"] != "same"
        ]
        assert differing == []
        assert data["summary"]["changes_in_effect"] is False


def test_there_are_safe_fixes_to_compare() -> None:
    assert len({each.values[0].id for each in EXAMPLES}) >= 25  # type: ignore[union-attr]
