"""What comments and ``suppress:`` accept, what they do not, and what becomes of it in a report."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eaglecfg.rules.examples import materialize
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.runner import check_deployment, validate
from eaglecfg.rules.suppression import Mark, marks_of
from eaglecfg.schema.load import load_config
from eaglecfg.source.read import parse_document, read_document

HEAD = """\
version: 1
engine: {name: sglang, version: 0.5.23}
deployments:
  chat:
    target: {checkpoint: target}
    draft: {checkpoint: draft}
    capture: {trained_boundaries: [3, 6, 9]}
"""
SHAPE = """\
    speculative:
      algorithm: EAGLE3
      num_steps: 3
      eagle_topk: 1
"""
SECOND = "  b: {target: {checkpoint: target}}"
BASE = HEAD + SHAPE + "      num_draft_tokens: 6"
"""EC302 at the last line, which has no end yet."""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pair")
    materialize({"title": "pair"}, folder)
    return folder


def run(pair: Path, text: str, **options: object) -> Report:
    document = parse_document(text, "eaglecfg.yaml", str(pair))
    return validate([document], **options)  # type: ignore[arg-type]


def found(report: Report) -> list[str]:
    return [each.rule.id for each in report.findings if each.severity is not Severity.INFO]


def accepted(report: Report) -> list[tuple[str, str]]:
    return [(each.found.rule.id, each.reason) for each in report.accepted]


@pytest.mark.parametrize(
    "text",
    [
        BASE + "  # eaglecfg: ignore[EC302] as measured\n",
        BASE + "  #eaglecfg:ignore[draft-tokens-rewritten]   as measured  \n",
        BASE + "  # eaglecfg: ignore[ EC999 , ec302 ]: as measured\n".replace("EC999 , ", "EC310, "),
        BASE + "  # note  # eaglecfg: ignore[EC302] - as measured\n",
        BASE + "  # eaglecfg: ignore[EC310] other # eaglecfg: ignore[EC302] as measured\n",
        HEAD + SHAPE + "      # eaglecfg: ignore[EC302] as measured\n      num_draft_tokens: 6\n",
        HEAD
        + SHAPE
        + "      # eaglecfg: ignore[EC302] as measured\n      # more words\n      num_draft_tokens: 6",
        (BASE + "  # eaglecfg: ignore[EC302] as measured\n").replace("\n", "\r\n"),
        "\ufeff" + BASE + "  # eaglecfg: ignore[EC302] as measured\n",
        BASE + "\nsuppress: [{rule: EC302, reason: as measured}]\n",
        BASE + "\nsuppress: [{rule: EC302, reason: as measured, deployment: chat}]\n",
        BASE + "\nsuppress:\n- rule: Draft-Tokens-Rewritten\n  reason: 'as measured'\n",
    ],
)
def test_both_forms_accept_a_finding(pair: Path, text: str) -> None:
    report = run(pair, text, ignore=["EC123"])
    assert found(report) == []
    assert accepted(report) == [("EC302", "as measured")]
    assert report.suppressed == 1
    assert report.exit_code(Severity.WARNING) == 0


@pytest.mark.parametrize(
    "text",
    [
        BASE.replace("algorithm: EAGLE3", "algorithm: EAGLE3  # eaglecfg: ignore[EC302] wrong line"),
        HEAD + SHAPE + "      # eaglecfg: ignore[EC302] too far above\n\n      num_draft_tokens: 6\n",
        BASE + "\nsuppress: [{rule: EC302, reason: r, deployment: other}]\n",
        BASE + "\nsuppress: [{rule: EC302}]\n",
        BASE + "\nsuppress: [EC302]\n",
        BASE + "\nsuppress: EC302\n",
        BASE + "\nsuppress: {EC302: r}\n",
        BASE + "\n    env: {NOTE: 'x  # eaglecfg: ignore[EC302] in text'}\n",
        BASE + "  # see eaglecfg: ignore[EC302] r\n",
        BASE + "  # eaglecfg: ignore[EC30] r\n",
        BASE + "  # eaglecfg: ignore EC302 r\n",
        BASE + "  # eaglecfg: IGNORE[EC302] r\n",
    ],
)
def test_what_accepts_nothing(pair: Path, text: str) -> None:
    report = run(pair, text)
    assert "EC302" in found(report)
    assert report.accepted == ()


def test_a_number_sign_in_a_block_of_text_is_no_comment(pair: Path) -> None:
    text = BASE + "\n    env:\n      NOTE: |\n        # eaglecfg: ignore[EC302]\n"
    assert found(run(pair, text)) == ["EC302"]


def test_one_cause_one_finding_without_a_reason(pair: Path) -> None:
    report = run(pair, BASE + "  # eaglecfg: ignore[EC302]\n")
    assert found(report) == ["EC121"]
    assert report.findings[0].span.start.line == len(BASE.splitlines())
    assert accepted(report) == [("EC302", "")]


def test_a_suppressed_cause_still_explains_its_consequences(pair: Path) -> None:
    shifted = {"capture": {"trained_boundaries": [2, 5, 8], "offset": 0}}
    materialize({"title": "x", "deployment": shifted}, pair / "other")
    before = validate([read_document(pair / "other" / "eaglecfg.yaml")])
    causes = sorted({each.because for each in before.dropped})
    assert causes
    lines = "".join(f"- {{rule: {rule}, reason: r}}\n" for rule in sorted(set(found(before))))
    path = pair / "other" / "eaglecfg.yaml"
    path.write_text(path.read_text(encoding="utf-8") + "suppress:\n" + lines, encoding="utf-8")
    after = validate([read_document(path)])
    assert found(after) == []
    assert after.dropped == before.dropped
    assert after.failed == before.failed


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        (HEAD + "suppress: [{rule: EC302, reason: r}]\n", {}, ["EC123"]),
        (HEAD + "suppress: [{rule: EC302, reason: r}]\n", {"ignore": ["EC302"]}, []),
        (HEAD + "suppress: [{rule: EC302, reason: r}]\n", {"select": ["EC2"]}, []),
        (HEAD + "suppress: [{rule: EC302, reason: r}]\n", {"select": ["EC302", "EC123"]}, ["EC123"]),
        (HEAD + "suppress: [{rule: EC340, reason: asked elsewhere}]\n", {}, []),
        (HEAD + "suppress: [{rule: EC409, reason: no machine yet}]\n", {}, []),
        (HEAD + SECOND + "  # eaglecfg: ignore[EC302] r\n", {"deployments": ["chat"]}, []),
        (HEAD + SECOND + "  # eaglecfg: ignore[EC302] r\n", {}, ["EC123"]),
        (HEAD + SECOND + "\nsuppress: [{rule: EC302, reason: r}]\n", {"deployments": ["chat"]}, []),
        (HEAD + SECOND + "\nsuppress: [{rule: EC302, reason: r, deployment: chat}]\n",
         {"deployments": ["chat"]}, ["EC123"]),
    ],
)  # fmt: skip
def test_unused_only_where_the_rule_was_decided(
    pair: Path, text: str, options: dict[str, list[str]], expected: list[str]
) -> None:
    assert [id for id in found(run(pair, text, **options)) if id == "EC123"] == expected


def test_a_missing_checkpoint_decides_nothing(pair: Path) -> None:
    text = HEAD.replace("checkpoint: draft", "checkpoint: nowhere") + "suppress: [{rule: EC212, reason: r}]\n"
    assert "EC123" not in found(run(pair, text))


def test_findings_about_the_text_stay(pair: Path) -> None:
    text = BASE + "  # eaglecfg: ignore[EC302, EC002] r\n      num_steps: 4  # eaglecfg: ignore[EC002] r\n"
    report = run(pair, text)
    assert found(report).count("EC002") == 1
    assert found(report).count("EC124") == 2
    assert report.exit_code() == 1


def test_a_file_that_does_not_parse_accepts_nothing(pair: Path) -> None:
    report = run(pair, "a: [  # eaglecfg: ignore[EC001] r\n")
    assert found(report) == ["EC001"]
    assert report.exit_code() == 2


def test_deployments_share_a_line_under_defaults(pair: Path) -> None:
    text = """\
version: 1
engine: {name: sglang, version: 0.5.23}
defaults:
  target: {checkpoint: target}
  draft: {checkpoint: draft}
  capture: {trained_boundaries: [3, 6, 9]}
  speculative: {num_steps: 3, eagle_topk: 1, num_draft_tokens: 6}  # eaglecfg: ignore[EC302] as measured
deployments: {a: {}, b: {}}
"""
    report = run(pair, text)
    assert found(report) == []
    assert len(report.accepted) == 2


def test_a_study_accepts_its_own(pair: Path) -> None:
    materialize({"title": "x", "study": {"budget": None}}, pair / "study")
    path = pair / "study" / "study.yaml"
    documents = [read_document(path)]
    assert "EC706" in found(validate(documents))
    path.write_text(path.read_text(encoding="utf-8") + "suppress: [{rule: EC706, reason: by hand}]\n")
    report = validate([read_document(path)])
    assert found(report) == []
    assert accepted(report) == [("EC706", "by hand")]


def test_a_tuner_that_checks_one_deployment_accepts_the_same(pair: Path) -> None:
    config = load_config(parse_document(BASE + "  # eaglecfg: ignore[EC302] r\n", "e.yaml", str(pair)))
    report = check_deployment(config, config.deployments[0])
    assert found(report) == []
    assert accepted(report) == [("EC302", "r")]


def test_checks_add_up(pair: Path) -> None:
    report = run(pair, BASE + "  # eaglecfg: ignore[EC302] r\n")
    total = report.passed + report.failed + report.undecided + report.not_applicable + report.left_out
    assert total == report.checks


def test_marks_know_their_lines() -> None:
    text = "a: 1\n# eaglecfg: ignore[EC302] r\nb: 2  # eaglecfg: ignore[EC310] r\n# eaglecfg: ignore[EC303] x"
    marks = marks_of(parse_document(text, "e.yaml", "."))
    assert [(mark.rules, mark.lines) for mark in marks] == [
        (("EC302",), frozenset((3,))),
        (("EC310",), frozenset((3,))),
        (("EC303",), frozenset()),
    ]


@pytest.mark.parametrize(
    "text", ["", "[1]", "x", "suppress: 1", "suppress: [1, {rule: [a], reason: {}}]", "eaglecfg:"]
)
def test_odd_files_hold_no_marks(text: str) -> None:
    assert marks_of(parse_document(text, "e.yaml", ".")) == ()


def test_reasons_are_printable() -> None:
    mark: Mark
    (mark,) = marks_of(parse_document("a: 1 # eaglecfg: ignore[EC302] \u202eevil\n", "e.yaml", "."))
    assert mark.reason == "\u202eevil"


@given(
    st.lists(
        st.sampled_from(
            ["#", " ", "eaglecfg:", "ignore", "[", "]", "EC302", ",", "a: 1", '"', "\n", "é", "-"]
        )
    )
)
def test_any_text_can_be_looked_through(parts: list[str]) -> None:
    document = parse_document("".join(parts), "e.yaml", ".")
    for mark in marks_of(document):
        start, end = mark.span.start, mark.span.end
        assert document.lines[start.line - 1][start.column - 1] == "#"
        assert (start.line, start.column) < (end.line, end.column)


@pytest.mark.parametrize(
    "given",
    [
        "suppress: [{rule: EC801, reason: r}]",
        "suppress: [{rule: checkpoint-unread, deployment: chat, reason: r}]",
    ],
)
def test_what_could_not_be_read_is_not_accepted(pair: Path, given: str) -> None:
    text = HEAD.replace("checkpoint: draft", "checkpoint: nowhere") + "\n" + given + "\n"
    report = run(pair, text)
    (said,) = [each for each in report.findings if each.rule.id == "EC124"]
    assert said.severity is Severity.WARNING
    assert "EC801 could not be checked, and no suppression makes up for that" in said.finding.message
    assert said.finding.fix is None, "where the weights are it may be in use"
    assert report.exit_code() == 3
    assert "EC123" not in found(report)


def test_nor_in_the_line(pair: Path) -> None:
    text = HEAD.replace("{checkpoint: draft}", "{checkpoint: nowhere}  # eaglecfg: ignore[EC801] r")
    assert found(run(pair, text)) == ["EC124"]


def test_a_check_that_lacks_no_file_stays_quiet(pair: Path) -> None:
    assert "EC124" not in found(run(pair, BASE + "\nsuppress: [{rule: EC409, reason: r}]\n"))
