"""Old findings stay old when lines move; new ones count; what is solved is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

from eaglecfg.cli.main import run
from eaglecfg.rules.baseline import baseline_text, read_baseline, with_baseline
from eaglecfg.rules.examples import materialize
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.registry import ALL_RULES
from eaglecfg.rules.runner import validate
from eaglecfg.source.read import read_document

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "schemas" / "baseline.schema.json").read_text(encoding="utf-8")
)
FAULTY = {
    "title": "three findings",
    "deployment": {
        "capture": {"trained_boundaries": [2, 5, 8]},
        "speculative": {"num_draft_tokens": 6},
        "nccl": {"buffsize": "4M"},
    },
}


@pytest.fixture
def faulty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    materialize(FAULTY, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def report_of(name: str = "eaglecfg.yaml") -> Report:
    return validate([read_document(Path(name), name)])


def checked(name: str, baseline: str = "b.json") -> Report:
    return with_baseline(report_of(name), read_baseline(baseline), ALL_RULES)


def edit(old: str, new: str) -> None:
    path = Path("eaglecfg.yaml")
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def write(capsys: pytest.CaptureFixture[str], *options: str) -> int:
    code = run(["validate", "--write-baseline", "b.json", "-q", *options])
    capsys.readouterr()
    return code


def test_old_findings_do_not_count(faulty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert write(capsys) == 0
    data = json.loads(Path("b.json").read_text(encoding="utf-8"))
    assert [error.message for error in Draft7Validator(SCHEMA).iter_errors(data)] == []
    assert {each["rule"] for each in data["findings"]} >= {"EC201", "EC302", "EC604"}
    assert run(["validate", "--baseline", "b.json"]) == 0
    out = capsys.readouterr().out
    assert f"{len(data['findings'])} in the baseline" in out
    assert "EC201" not in out
    assert run(["validate", "--baseline", "b.json", "-v"]) == 0
    assert "EC201" in capsys.readouterr().out


def test_they_stay_old_when_lines_move_and_from_any_folder(
    faulty: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(capsys)
    edit("version: 1", "# a comment\n\nversion: 1")
    assert checked("eaglecfg.yaml").findings == ()
    assert checked(str(faulty / "eaglecfg.yaml")).findings == ()
    assert checked("./target/../eaglecfg.yaml").findings == ()
    monkeypatch.chdir(faulty / "target")
    assert checked("../eaglecfg.yaml", "../b.json").findings == ()


def test_new_findings_count_and_solved_ones_are_named(
    faulty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(capsys)
    edit("4M", "8")
    report = checked("eaglecfg.yaml")
    assert [found.rule.id for found in report.findings] == ["EC607"]
    assert report.baseline is not None
    assert [stale.rule for stale in report.baseline.stale] == ["EC604"]
    assert report.exit_code() == 1
    assert run(["validate", "--baseline", "b.json"]) == 1
    out = capsys.readouterr().out
    assert "info[baseline b.json] 1 of its findings is gone" in out
    assert "1 gone from there" in out


def test_nothing_is_gone_that_was_not_looked_for(faulty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(capsys)
    baseline = read_baseline("b.json")
    some = [rule for rule in ALL_RULES if rule.id == "EC201"]
    edit("4M", "4194304")
    edit("num_draft_tokens: 6", "num_draft_tokens: 4")
    report = validate([read_document(Path("eaglecfg.yaml"), "eaglecfg.yaml")], select=["EC201"])
    use = with_baseline(report, baseline, some).baseline
    assert use is not None
    assert use.stale == ()
    (faulty / "other").mkdir()
    materialize({"title": "good"}, faulty / "other")
    use = with_baseline(report_of("other/eaglecfg.yaml"), baseline, ALL_RULES).baseline
    assert use is not None
    assert use.stale == ()
    edit("checkpoint: draft", "checkpoint: nowhere")
    stale = checked("eaglecfg.yaml").baseline
    assert stale is not None
    assert "EC201" not in [each.rule for each in stale.stale]


def test_what_a_lost_deployment_left_is_gone(faulty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(capsys)
    edit("  chat:", "  talk:")
    report = checked("eaglecfg.yaml")
    assert report.baseline is not None
    assert {each.deployment for each in report.baseline.stale} == {"chat"}
    assert report.known == ()


@pytest.mark.parametrize("form", ["text", "concise", "json", "sarif", "github", "markdown"])
def test_what_a_lost_file_left_is_gone_in_every_format(
    faulty: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    write(capsys)
    Path("eaglecfg.yaml").rename("renamed.yaml")
    run(["validate", "renamed.yaml", "--baseline", "b.json", "--format", form])
    out = capsys.readouterr().out
    kept = json.loads(Path("b.json").read_text(encoding="utf-8"))["findings"]
    for rule in {each["rule"] for each in kept}:
        assert rule in out
    said = {
        "text": f"{len(kept)} of its findings are gone",
        "concise": "b.json: info[baseline] EC302 is gone from eaglecfg.yaml: chat: ",
        "json": '"stale": [\n',
        "sarif": '"baselineState": "absent"',
        "github": f"::notice file=b.json,title=eaglecfg baseline::{len(kept)} findings in it gone (",
        "markdown": f"{len(kept)} gone from the baseline",
    }
    assert said[form] in out
    capsys.readouterr()
    run(["validate", "renamed.yaml", "--write-baseline", "b.json", "-q"])
    files = {each["file"] for each in json.loads(Path("b.json").read_text(encoding="utf-8"))["findings"]}
    assert files == {"renamed.yaml"}


def test_a_suppressed_finding_is_neither_old_nor_gone(
    faulty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(capsys)
    edit("version: 1", "version: 1\nsuppress: [{rule: EC604, reason: r}]")
    report = checked("eaglecfg.yaml")
    assert report.baseline is not None
    assert (report.suppressed, report.baseline.stale) == (1, ())


def test_findings_about_the_text_always_count(faulty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit("version: 1", "version: 1\nversion: 1")
    assert write(capsys) == 1
    assert "EC002" not in Path("b.json").read_text(encoding="utf-8")


def test_an_unreadable_file_gives_no_baseline(faulty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("eaglecfg.yaml").write_text("a: [", encoding="utf-8")
    assert run(["validate", "--write-baseline", "b.json"]) == 2
    assert "b.json was not written" in capsys.readouterr().err
    assert not Path("b.json").exists()


def test_it_is_the_same_each_time_and_may_be_written_over(
    faulty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(capsys)
    first = Path("b.json").read_bytes()
    assert write(capsys, "--baseline", "b.json") == 0
    assert Path("b.json").read_bytes() == first
    assert baseline_text(report_of(), faulty).encode() == first


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--baseline", "none.json"], "--write-baseline none.json makes one"),
        (["--baseline", "target"], "cannot be read"),
        (["--baseline", "eaglecfg.yaml"], "this is not JSON"),
        (["--baseline", "draft/config.json"], "this is another file"),
        (["--baseline", "list.json"], "this is another file"),
        (["--baseline", "newer.json"], "version 1 with fingerprints 1 is expected, this is version 2"),
        (["--baseline", "broken.json"], "findings[0] is expected"),
        (["--baseline", "deep.json"], "this is not JSON"),
        (["--write-baseline", "draft/config.json"], "one of the files that are read"),
        (["--write-baseline", "eaglecfg.yaml"], "one of the files that are read"),
        (["--write-baseline", "list.json"], "is no baseline"),
        (["--write-baseline", "missing/b.json"], "there is no folder"),
        (["--baseline", "none.json", "--write-baseline", "b.json"], "no such baseline"),
        (["--write-baseline", "-"], "name the file"),
        (["--baseline", "-"], "name the file"),
        (["--baseline", "b.json", "--engine-version", "0.5.21"], "leave --engine-version out"),
    ],
)
def test_what_is_no_baseline(
    faulty: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    head = '{"kind": "eaglecfg-baseline", "fingerprint": 1, "version"'
    Path("list.json").write_text("[]", encoding="utf-8")
    Path("newer.json").write_text(head + ': 2, "findings": []}', encoding="utf-8")
    Path("broken.json").write_text(head + ': 1, "findings": [3]}', encoding="utf-8")
    Path("deep.json").write_text("[" * 100_000, encoding="utf-8")
    before = {path: path.read_bytes() for path in faulty.rglob("*") if path.is_file()}
    assert run(["validate", *options]) == 2
    assert said in capsys.readouterr().err
    assert {path: path.read_bytes() for path in before} == before


def test_a_report_is_not_written_over_the_baseline_in_use(
    faulty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(capsys)
    before = Path("b.json").read_bytes()
    assert run(["validate", "--baseline", "b.json", "-o", "json=b.json"]) == 2
    assert Path("b.json").read_bytes() == before


def test_a_partial_run_keeps_what_it_did_not_look_at(
    faulty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def rules() -> list[str]:
        return [each["rule"] for each in json.loads(Path("b.json").read_text(encoding="utf-8"))["findings"]]

    write(capsys)
    every = rules()
    edit("num_draft_tokens: 6", "num_draft_tokens: 4")
    assert write(capsys, "--select", "EC201") == 0
    assert rules() == every, "EC302 was not looked at"
    (faulty / "other").mkdir()
    materialize(FAULTY, faulty / "other")
    assert write(capsys, "other/eaglecfg.yaml") == 0
    assert sorted(rules()) == sorted(every * 2), "the first file was not looked at"
    assert write(capsys) == 0
    assert sorted(rules()) == sorted([rule for rule in every if rule != "EC302"] + every)
    Path("other/eaglecfg.yaml").unlink()
    assert write(capsys) == 0
    assert rules() == [rule for rule in every if rule != "EC302"]


def test_an_old_version_is_written_anew(faulty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("b.json").write_text('{"kind": "eaglecfg-baseline", "version": 0}', encoding="utf-8")
    assert write(capsys) == 0
    assert read_baseline("b.json").entries
