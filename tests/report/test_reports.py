"""What reports look like, on findings made by hand over a small real file."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from eaglecfg.report.concise import render as concise
from eaglecfg.report.machine import to_json
from eaglecfg.report.shown import Shown
from eaglecfg.report.styled import cells, coloured, plain, visible
from eaglecfg.report.text import render
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Fix, Item, Rule, Severity, Today
from eaglecfg.rules.outcome import Crash, Dropped, Report, Reported, Skipped
from eaglecfg.source.read import parse_document

TEXT = """\
version: 1
deployments:
  chat:
    target:
      checkpoint: 模型/llama   # wide characters before the marks
    parallel: {tp_size: 3}
"""
DOCUMENT = parse_document(TEXT, "eaglecfg.yaml", ".")


def _nothing(context: Context) -> Iterator[Item]:
    yield from ()


RULE = Rule("EC999", "made-up", Severity.ERROR, Today.SILENT, _nothing)


def _reported(finding: Finding, severity: Severity = Severity.ERROR) -> Reported:
    return Reported(RULE, finding, severity, DOCUMENT, DOCUMENT.place(finding.path).value, "chat")


def _report(*findings: Reported, **changes: object) -> Report:
    values: dict[str, object] = {
        "documents": (DOCUMENT,),
        "engines": ("sglang 0.5.14",),
        "deployments": ("chat",),
        "findings": findings,
        "not_checked": (),
        "dropped": (),
        "crashes": (),
        "passed": 3,
        "not_applicable": 1,
        "rules": 5,
    }
    return Report(**{**values, **changes})  # type: ignore[arg-type]


RICH_FINDING = Finding(
    "expected 8 ranks to divide 10 heads, got 3",
    path=("deployments", "chat", "parallel", "tp_size"),
    evidence=(
        Evidence("draft/config.json", "num_attention_heads", "10", "heads", 7, 28),
        Evidence("draft/model.safetensors", "fc.weight", "BF16 [256, 768]", "768 = 3 × 256"),
    ),
    arithmetic=("10 ÷ 3 = 3 remainder 1",),
    why="the engine stops while loading",
    help="use 1, 2, 5 or 10 ranks",
    fix=Fix("set tp_size", ("deployments", "chat", "parallel", "tp_size"), "2"),
    values={"tp_size": 3},
)


def _text(report: Report, width: int = 110) -> str:
    return plain(render(report, Shown(), version="1.2", width=width))


def test_a_finding_shows_place_marks_evidence_arithmetic_and_a_way_out() -> None:
    text = _text(_report(_reported(RICH_FINDING)))
    assert "error[EC999 made-up] expected 8 ranks to divide 10 heads, got 3\n" in text
    assert "  --> eaglecfg.yaml:6:25\n" in text
    assert "6 |     parallel: {tp_size: 3}\n  |                         ^\n" in text
    assert "  ::: draft/config.json:7:28\n" in text
    assert "768 = 3 × 256" in text
    assert "= 10 ÷ 3 = 3 remainder 1" in text
    for word in ("today: silent", "why: the engine", "help: use 1, 2", "fix: set tp_size: write 2 ["):
        assert word in text
    assert text.endswith("FAIL  findings at or above error (exit 1)\n")


def test_marks_stand_under_wide_characters() -> None:
    finding = Finding("m", path=("deployments", "chat", "target", "checkpoint"))
    lines = _text(_report(_reported(finding))).splitlines()
    at = next(index for index, each in enumerate(lines) if each.startswith("5 |"))
    code, marks = lines[at], lines[at + 1]
    assert cells(code[: code.index("模型")]) == marks.index("^")
    assert marks.count("^") == cells("模型/llama")


@pytest.mark.parametrize("width", [40, 60, 110])
def test_prose_is_wrapped_and_no_word_is_lost(width: int) -> None:
    long = " ".join(f"word{index}" for index in range(60))
    text = _text(_report(_reported(Finding(long, why=long))), width)
    assert all(cells(each) <= width for each in text.splitlines() if "word" in each)
    for index in range(60):
        assert text.split().count(f"word{index}") == 2


def test_text_from_files_cannot_drive_the_terminal() -> None:
    evil = "\x1b]0;owned\x07[/bold] [red]"
    report = _report(_reported(Finding(evil, evidence=(Evidence(evil, evil, evil, evil),))))
    for out in (_text(report), plain(concise(report))):
        assert "\x1b" not in out
        assert "\x07" not in out
    assert "[/bold]" in coloured(render(report, Shown(), version="1"))
    assert visible("a\x1bb") == "a\\x1bb"


def test_colours_change_nothing_but_colours() -> None:
    import re

    lines = render(_report(_reported(RICH_FINDING)), Shown(), version="1")
    painted = coloured(lines)
    assert "\x1b[" in painted
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == plain(lines)


def test_concise_is_one_line_a_finding() -> None:
    out = plain(concise(_report(_reported(RICH_FINDING))))
    assert out == (
        "eaglecfg.yaml:6:25: error[EC999] expected 8 ranks to divide 10 heads, got 3 "
        "(draft/config.json:7:28: num_attention_heads 10)\n"
    )


def test_json_carries_everything_and_counts() -> None:
    skip = Skipped(RULE, "needs the draft", DOCUMENT, "chat", incomplete=True)
    drop = Dropped(RULE, "EC110", 2, "chat")
    report = _report(_reported(RICH_FINDING), not_checked=(skip,), dropped=(drop,))
    data = json.loads(to_json(report, Severity.ERROR, version="1"))
    assert data["version"] == 1
    assert data["summary"] == {
        "error": 1, "warning": 0, "info": 0, "passed": 3, "not_checked": 1, "not_applicable": 1,
        "suppressed": 0, "baseline": 0, "dropped": 1, "checks": 0, "checks_with_findings": 1,
        "checks_undecided": 0, "exit_code": 1,
    }  # fmt: skip
    (finding,) = data["findings"]
    assert finding["location"] == {
        "file": "eaglecfg.yaml", "line": 6, "column": 25, "end_line": 6, "end_column": 26,
        "path": "deployments.chat.parallel.tp_size",
    }  # fmt: skip
    assert finding["evidence"][1] == {
        "file": "draft/model.safetensors", "key": "fc.weight", "text": "BF16 [256, 768]",
        "note": "768 = 3 × 256", "line": None, "column": None,
    }  # fmt: skip
    assert finding["fix"]["text"] == "2"
    assert finding["engine_today"] == "silent"
    assert data["not_checked"][0]["reason"] == "needs the draft"
    assert data["dropped"] == [{"rule": "EC999", "because": "EC110", "count": 2, "deployment": "chat"}]


@pytest.mark.parametrize(
    ("severity", "fail_on", "code"),
    [
        (Severity.ERROR, Severity.ERROR, 1),
        (Severity.WARNING, Severity.ERROR, 0),
        (Severity.WARNING, Severity.WARNING, 1),
        (Severity.INFO, Severity.WARNING, 0),
        (Severity.INFO, Severity.INFO, 1),
    ],
)
def test_exit_codes_follow_the_threshold(severity: Severity, fail_on: Severity, code: int) -> None:
    assert _report(_reported(Finding("m"), severity)).exit_code(fail_on) == code


def test_unread_input_is_never_a_pass_and_a_crash_is_never_a_finding() -> None:
    unread = Skipped(RULE, "no such folder", DOCUMENT, "chat", incomplete=True)
    undeclared = Skipped(RULE, "not declared", DOCUMENT, "chat")
    crash = Crash(RULE, "ValueError: x", "trace", "chat")
    assert _report(not_checked=(unread,)).exit_code() == 3
    assert _report(not_checked=(undeclared,)).exit_code() == 0
    assert _report(not_checked=(undeclared,), required=frozenset({"EC999"})).exit_code() == 3
    assert _report(_reported(Finding("m")), not_checked=(unread,)).exit_code() == 1
    assert _report(_reported(Finding("m")), crashes=(crash,)).exit_code() == 4
    assert "INTERNAL ERROR" in _text(_report(crashes=(crash,)))
    assert "no such folder — incomplete" in _text(_report(not_checked=(unread,)))


@pytest.mark.parametrize("width", [40, 60, 110])
def test_a_line_that_is_too_wide_is_cut_around_its_mark(width: int) -> None:
    text = "a: {" + ", ".join(f"key{index}: value" for index in range(20)) + ", odd: 模型, end: 1}\n"
    document = parse_document(text, "wide.yaml", ".")
    span = document.place(("a", "odd")).value
    report = _report(Reported(RULE, Finding("m", path=("a", "odd")), Severity.ERROR, document, span))
    lines = _text(report, width).splitlines()
    at = next(index for index, each in enumerate(lines) if each.startswith("1 |"))
    assert cells(lines[at]) <= width
    assert lines[at].startswith("1 | … ")
    assert cells(lines[at][: lines[at].index("模型")]) == lines[at + 1].index("^^^^")


def test_equal_infos_of_several_deployments_are_one() -> None:
    findings = [
        Reported(RULE, Finding("m", help="h"), Severity.INFO, DOCUMENT, DOCUMENT.place(()).value, name)
        for name in ("a", "b", "c", "d", "e")
    ]
    report = _report(*findings, deployments=("a", "b", "c", "d", "e"))
    text = _text(report)
    assert "info[EC999 made-up] m (eaglecfg.yaml:1:1; deployments a, b, c and 2 more)\n   = help: h\n" in text
    assert "5 info" in text
    whole = plain(render(report, Shown(verbose=True), version="1"))
    assert whole.count("info[EC999 made-up] m\n  --> eaglecfg.yaml:1:1   (deployment ") == 5


def test_concise_names_the_deployment_where_there_are_several() -> None:
    out = plain(concise(_report(_reported(Finding("m")), deployments=("chat", "other"))))
    assert out == "eaglecfg.yaml:1:1: error[EC999] chat: m\n"
