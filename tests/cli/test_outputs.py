"""``validate --output``: several reports of one run, written whole or not at all, never over an input."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from eaglecfg.cli.report_output import FORMATS
from tests.cli.conftest import RunLine

MACHINES = ("json", "sarif", "gitlab")


def listing(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_several_reports_of_one_run(run_line: RunLine, shifted: Path) -> None:
    names = {
        form: f"r.{form}" for form in ("text", "concise", "json", "sarif", "github", "gitlab", "markdown")
    }
    code, out, err = run_line("validate", *(f"--output={form}={name}" for form, name in names.items()))
    assert code == 1
    assert out.endswith("(exit 1)\n")
    assert err.splitlines() == [f"wrote {name}" for name in names.values()]
    for name in names.values():
        assert "EC201" in (shifted / name).read_text(encoding="utf-8")
    assert (shifted / "r.text").read_text(encoding="utf-8").endswith("(exit 1)\n")
    for form in MACHINES:
        json.loads((shifted / names[form]).read_text(encoding="utf-8"))


@pytest.mark.parametrize("form", ["sarif", "github", "gitlab", "markdown"])
def test_one_of_them_to_stdout(run_line: RunLine, shifted: Path, form: str) -> None:
    code, out, err = run_line("validate", "--format", form)
    again = run_line("validate", "-o", f"{form}=-")
    assert (code, out, err) == again
    assert code == 1
    assert "EC201" in out
    assert err == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-o", "sarif"], "takes FORMAT=PATH"),
        (["-o", "sarif="], "takes FORMAT=PATH"),
        (["-o", "xml=x"], "formats: text"),
        (["-o", "json=-", "-o", "sarif=-"], "both write to stdout"),
        (["-o", "json=-", "--format", "text"], "both write to stdout"),
        (["-o", "json=a.json", "-o", "sarif=./a.json"], "output of two formats"),
        (["-o", "json=missing/a.json"], "there is no folder missing"),
        (["-o", "json=target"], "this is a folder"),
        (["-o", "json=a\0b"], "zero byte"),
        (["-o", "json=eaglecfg.yaml"], "something else than a report of eaglecfg, and is not written over"),
        (
            ["-o", "json=../{here}/eaglecfg.yaml"],
            "something else than a report of eaglecfg, and is not written over",
        ),
        (["-o", "json=link.yaml"], "something else than a report of eaglecfg, and is not written over"),
        (
            ["-o", "json=draft/config.json"],
            "something else than a report of eaglecfg, and is not written over",
        ),
        (["-o", "json=blank.yaml", "blank.yaml"], "one of the files that are read"),
        (["-o", "sarif=a.sarif", "--engine-version", "0.5.21"], "sarif has no form for"),
    ],
)
def test_what_cannot_be_written(run_line: RunLine, good: Path, options: list[str], said: str) -> None:
    (good / "link.yaml").symlink_to("eaglecfg.yaml")
    (good / "blank.yaml").write_text("\n")
    before = {path: path.read_bytes() for path in good.rglob("*") if path.is_file()}
    options = [each.replace("{here}", good.name) for each in options]
    code, _, err = run_line("validate", *options)
    assert code == 2
    assert said in err
    assert "Traceback" not in err
    for path, content in before.items():
        assert path.read_bytes() == content


def test_a_study_keeps_its_config_and_its_prompts(run_line: RunLine, good: Path) -> None:
    (good / "study.yaml").write_text("version: 1\nconfig: eaglecfg.yaml\ndeployment: chat\nspace: {}\n")
    (good / "prompts.jsonl").write_text("{}")
    text = (good / "study.yaml").read_text() + "workload: {prompts: prompts.jsonl}\n"
    (good / "study.yaml").write_text(text)
    for name in ("eaglecfg.yaml", "prompts.jsonl", "study.yaml"):
        code, _, err = run_line("validate", "study.yaml", "-o", f"json={name}")
        assert code == 2
        assert "is not written over" in err


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(run_line: RunLine, good: Path) -> None:
    (good / "closed").mkdir(mode=0o500)
    code, _, err = run_line("validate", "-o", "json=closed/a.json")
    assert code == 2
    assert "may not write there" in err


def test_a_file_that_is_there_keeps_its_mode_and_links_stay(run_line: RunLine, good: Path) -> None:
    (good / "real.json").write_text('{"tool": {"name": "eaglecfg"}}')
    (good / "real.json").chmod(0o640)
    (good / "link.json").symlink_to("real.json")
    assert run_line("validate", "-q", "-o", "json=link.json")[0] == 0
    assert (good / "link.json").is_symlink()
    assert json.loads((good / "real.json").read_text(encoding="utf-8"))["version"] == 1
    assert stat.S_IMODE((good / "real.json").stat().st_mode) == 0o640
    assert not [name for name in listing(good) if name.startswith(".")], "nothing is left over"


@pytest.mark.parametrize(
    "text",
    [
        "notes",
        "# eaglecfg\n",
        "{}",
        '{"a": 1}',
        "[1]",
        '[{"a": "eaglecfg"}]',
        "version: 1\nengine: {name: eaglecfg}\n",
        "\0",
    ],
)
@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_a_file_that_is_no_report_is_left_as_it_is(
    run_line: RunLine, good: Path, form: str, text: str
) -> None:
    (good / "mine").write_text(text, encoding="utf-8")
    for more in ([], ["nowhere.yaml"], ["--engine-version", "0.5.21"]):
        code, _, err = run_line("validate", *more, "-o", f"{form}=mine")
        assert code == 2
        assert "mine holds something else than a report of eaglecfg, and is not written over" in err
        assert (good / "mine").read_text(encoding="utf-8") == text


@pytest.mark.parametrize("more", [[], ["-q"], ["-v"], ["--engine-version", "0.5.14"], ["nowhere.yaml"]])
@pytest.mark.parametrize("state", ["good", "shifted", "broken", "empty"])
def test_a_report_of_any_form_is_written_over_by_any_other(
    run_line: RunLine, good: Path, state: str, more: list[str]
) -> None:
    config = good / "eaglecfg.yaml"
    text = {"good": config.read_text(encoding="utf-8"), "broken": "a: [", "empty": ""}.get(state, "")
    if state == "shifted":
        text = config.read_text(encoding="utf-8").replace(
            "\n    draft:", "\n    capture: {trained_boundaries: [1]}\n    draft:"
        )
    config.write_text(text, encoding="utf-8")
    forms = ["text", "concise", "json"] if "--engine-version" in more else list(FORMATS)
    for form in forms:
        for other in (form, form, "json", form):
            _, _, err = run_line("validate", *more, "-o", f"{other}=r")
            assert "is not written over" not in err, (form, other, (good / "r").read_text(encoding="utf-8"))
        (good / "r").unlink(missing_ok=True)


def test_what_is_no_plain_file_is_written_in_place(run_line: RunLine, good: Path) -> None:
    assert run_line("validate", "-o", "json=/dev/null")[0] == 0
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.parametrize("form", [*MACHINES, "github", "markdown"])
def test_an_error_stands_where_the_report_would(run_line: RunLine, good: Path, form: str) -> None:
    code, out, err = run_line("validate", "nowhere.yaml", "-o", f"{form}=r", "--format", form)
    assert code == 2
    assert "nowhere.yaml" in err
    assert out == (good / "r").read_text(encoding="utf-8")
    assert "nowhere" in out


def test_several_versions_go_to_files_too(run_line: RunLine, good: Path) -> None:
    code, out, _ = run_line("validate", "--engine-version", "0.5.21", "-o", "json=v.json", "-o", "text=v.txt")
    assert code == 0
    assert json.loads((good / "v.json").read_text(encoding="utf-8"))["versions"]
    assert (good / "v.txt").read_text(encoding="utf-8") == out


def test_a_file_name_that_is_no_text(run_line: RunLine, shifted: Path) -> None:
    name = "\udcff😀%.yaml"
    (shifted / "eaglecfg.yaml").rename(shifted / name)
    for form in ("sarif", "github", "gitlab", "markdown", "json"):
        code, _, err = run_line("validate", name, "-o", f"{form}=r.{form}")
        assert code == 1, err
        code, _, err = run_line("validate", name, "--format", form)
        assert code == 1, err
    assert "%FF%F0%9F%98%80%25.yaml" in (shifted / "r.sarif").read_text(encoding="utf-8")


def test_what_is_suppressed_is_counted_listed_and_carried(run_line: RunLine, shifted: Path) -> None:
    path = shifted / "eaglecfg.yaml"
    text = path.read_text(encoding="utf-8")
    reason = "the trainer counts from one"
    path.write_text(f"{text}suppress: [{{rule: trained-boundaries, reason: {reason}}}]\n", encoding="utf-8")
    code, out, _ = run_line("validate", "-o", "json=r.json", "-o", "sarif=r.sarif", "-o", "markdown=r.md")
    assert code == 0
    assert "1 suppressed" in out
    assert "EC201" not in out
    assert reason in run_line("validate", "-v")[1]
    data = json.loads((shifted / "r.json").read_text(encoding="utf-8"))
    assert data["summary"]["suppressed"] == 1
    assert data["suppressed"][0]["suppression"]["reason"] == reason
    (run,) = json.loads((shifted / "r.sarif").read_text(encoding="utf-8"))["runs"]
    (result,) = (each for each in run["results"] if each["ruleId"] == "EC201")
    assert result["suppressions"][0]["justification"] == reason
    assert reason in (shifted / "r.md").read_text(encoding="utf-8")
