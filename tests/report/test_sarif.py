"""SARIF against the standard's own schema, and what code hosts ask for beyond it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator

from eaglecfg.record import replace
from eaglecfg.report.roots import Roots
from eaglecfg.report.roots import roots as find_roots
from eaglecfg.report.sarif import error_sarif, to_sarif
from eaglecfg.rules.examples import materialize
from eaglecfg.rules.model import Evidence, Finding, Severity
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.runner import validate
from eaglecfg.source.read import parse_document
from tests.report.conftest import CHAT, EVIL, crowded, document, empty, hostile, reported

SCHEMA = json.loads((Path(__file__).parent / "data" / "sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
VALIDATOR = Draft4Validator(SCHEMA)


def run_of(text: str) -> dict[str, Any]:
    data = json.loads(text)
    assert [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(data)] == []
    (run,) = data["runs"]
    return dict(run)


def sarif(report: Report, roots: Roots) -> dict[str, Any]:
    return run_of(to_sarif(report, Severity.ERROR, roots, version="1"))


def test_real_reports_follow_the_standard_and_carry_every_finding(
    real_reports: list[Report], roots: Roots
) -> None:
    for report in real_reports:
        run = sarif(report, roots)
        results = run["results"]
        counted = [each for each in results if each.get("kind") != "open" and not each.get("suppressions")]
        assert [each["ruleId"] for each in counted] == [found.rule.id for found in report.findings]
        accepted = [each["ruleId"] for each in results if each.get("suppressions")]
        assert accepted == [each.found.rule.id for each in report.accepted]
        assert sum(each.get("kind") == "open" for each in results) == len(report.not_checked)
        rules = run["tool"]["driver"]["rules"]
        for each in results:
            assert rules[each["ruleIndex"]]["id"] == each["ruleId"]
            (location,) = each["locations"]
            region = location["physicalLocation"].get("region")
            assert region is None or set(region) == {"startLine", "startColumn", "endLine", "endColumn"}
        for rule in rules:
            assert 0 < len(rule["shortDescription"]["text"]) <= 1024
            assert 0 < len(rule["fullDescription"]["text"]) <= 1024
            assert rule["help"]["text"]


@pytest.mark.parametrize("report", [hostile(), empty(), crowded(20)], ids=["hostile", "empty", "crowded"])
def test_any_report_follows_the_standard(report: Report, roots: Roots) -> None:
    sarif(report, roots)


def test_an_error_follows_the_standard() -> None:
    run = run_of(error_sarif(EVIL, 2, version="1"))
    (invocation,) = run["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 2)
    assert "@team" in invocation["toolExecutionNotifications"][0]["message"]["text"]


def test_kinds_of_results(roots: Roots) -> None:
    run = sarif(hostile(), roots)
    kinds = [
        (
            each.get("kind", "fail"),
            each["level"],
            each.get("baselineState"),
            len(each.get("suppressions", [])),
        )
        for each in run["results"]
    ]
    assert kinds == [
        ("fail", "error", "new", 0),
        ("fail", "error", "new", 0),
        ("fail", "warning", "new", 0),
        ("fail", "note", "new", 0),
        ("fail", "error", "unchanged", 0),
        ("fail", "error", "new", 1),
        ("fail", "error", "new", 1),
        ("fail", "none", "absent", 0),
        ("open", "none", "new", 0),
        ("open", "none", "new", 0),
    ]
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["exitCode"] == 4
    assert [each["level"] for each in invocation["toolExecutionNotifications"]] == ["error", "error", "note"]
    first = run["results"][5]["suppressions"][0]
    assert (first["kind"], first["justification"][:3]) == ("inSource", "a|b")


def test_columns_count_code_points_and_paths_are_encoded(roots: Roots) -> None:
    report = Report(
        (document(),), (), (), (reported(Finding("m", (*CHAT, "target", "checkpoint"))),), (), (), (), 0, 0
    )
    run = sarif(report, roots)
    assert run["columnKind"] == "unicodeCodePoints"
    place = run["results"][0]["locations"][0]["physicalLocation"]
    line = document().lines[3]
    assert line[place["region"]["startColumn"] - 1 : place["region"]["endColumn"] - 1] == '"😀😀"'
    assert place["artifactLocation"] == {
        "uri": "dir%20with%20space/eagle,cfg%3A100%25%23%F0%9F%98%80.yaml",
        "uriBaseId": "%SRCROOT%",
    }


def test_related_places_are_linked_and_files_link_nothing(roots: Roots) -> None:
    report = hostile()
    (roots.here / "draft").mkdir()
    (roots.here / "draft" / "model.safetensors").touch()
    (roots.here / "config.json").touch()
    first = report.findings[0]
    evidence = (Evidence("config.json", "hidden_size", "4", "", 7, 28), *first.finding.evidence)
    found = replace(first, finding=replace(first.finding, evidence=evidence))
    result = sarif(replace(report, findings=(found,)), roots)["results"][0]
    related = result["relatedLocations"]
    assert [each["id"] for each in related] == [1, 2, 3, 4, 5, 6]
    places = [each.get("physicalLocation") for each in related]
    assert places[2]["region"] == {"startLine": 7, "startColumn": 28}
    assert places[3] is None, "no such file"
    assert "region" not in places[4], "a tensor has no line"
    assert places[5] is None, "an engine is no file"
    message = result["message"]["text"]
    assert [id for id in range(1, 7) if f"]({id})" in message] == [1, 2, 3, 5]
    said = [message, *(each["message"]["text"] for each in related)]
    assert not [text for text in said if "](http" in text]


def test_fixes_are_replacements_that_come_to_the_fixed_text(roots: Roots) -> None:
    result = sarif(hostile(), roots)["results"][0]
    (fix,) = result["fixes"]
    (change,) = fix["artifactChanges"]
    source = document()
    lines = source.text.split("\n")

    def index(line: int, column: int) -> int:
        return sum(len(each) + 1 for each in lines[: line - 1]) + column - 1

    text = source.text
    for each in sorted(change["replacements"], key=lambda r: -int(r["deletedRegion"]["startLine"])):
        gone = each["deletedRegion"]
        start = index(gone["startLine"], gone["startColumn"])
        end = index(gone["endLine"], gone["endColumn"])
        text = text[:start] + each.get("insertedContent", {}).get("text", "") + text[end:]
    assert parse_document(text, "x", ".").data["deployments"]["chat"]["nccl"] == {"proto": "LL,Simple"}


def test_fingerprints_survive_moved_lines_and_new_words(roots: Roots) -> None:
    def marks(text: str, message: str) -> list[str]:
        source = parse_document(text, "eaglecfg.yaml", ".")
        path = (*CHAT, "nccl", "proto")
        found = reported(Finding(message, path, values={"a": 1}))
        moved = type(found)(
            found.rule, found.finding, found.severity, source, source.place(path).value, "chat"
        )
        run = sarif(Report((source,), (), (), (moved, moved), (), (), (), 0, 0), roots)
        return [each["partialFingerprints"]["eaglecfg/v1"] for each in run["results"]]

    text = document().text
    before, after = marks(text, "one"), marks("\n# a new comment\n\n" + text, "other words")
    assert before == after
    assert len(set(before)) == 2, "equal findings are told apart"


def test_the_log_is_the_same_each_time(roots: Roots) -> None:
    assert to_sarif(hostile(), Severity.ERROR, roots, version="1") == to_sarif(
        hostile(), Severity.ERROR, roots, version="1"
    )


def test_paths_count_from_the_work_tree(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a" / "b").mkdir(parents=True)
    here = find_roots(tmp_path / "a" / "b")
    assert here.root == tmp_path
    assert here.uri("x.yaml") == "a/b/x.yaml"
    assert here.uri("../x.yaml") == "a/x.yaml"
    assert here.uri(str(tmp_path / "c:d.yaml")) == "c%3Ad.yaml"
    assert here.uri("/etc/x y") == "file:///etc/x%20y"
    assert here.uri("-") == "stdin"
    assert here.uri("\udcff.yaml") == "a/b/%FF.yaml"
    assert here.path("/etc/x") is None


def test_rules_link_to_their_page_where_it_has_an_address(
    roots: Roots, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eaglecfg.report.sarif_rules.RULES_FOLDER", "https://example.org/docs/rules")
    (first, *_) = sarif(hostile(), roots)["tool"]["driver"]["rules"]
    assert first["helpUri"] == "https://example.org/docs/rules/capture.md#ec201-trained-boundaries"


def test_a_message_ends_before_its_links(real_reports: list[Report], roots: Roots) -> None:
    linked = 0
    for report in real_reports:
        for each in sarif(report, roots)["results"]:
            said, see, _ = each["message"]["text"].partition(" See [")
            linked += bool(see)
            assert not see or said[-1] in ".!?"
    assert linked


@pytest.mark.parametrize(
    ("values", "offered"),
    [
        ("num_draft_tokens: &n 6}, env: {A: *n", None),
        ("num_draft_tokens: &n 6}, env: {A: '6'", "3"),
        ("num_draft_tokens: 6}, env: {A: 6", "3"),
    ],
)
def test_a_fix_is_offered_only_where_nobody_else_reads_the_text(
    roots: Roots, tmp_path: Path, values: str, offered: str | None
) -> None:
    materialize({"title": "pair"}, tmp_path)
    text = (
        "version: 1\nengine: {name: sglang, version: 0.5.23}\ndeployments:\n"
        "  a: {target: {checkpoint: target}, draft: {checkpoint: draft}, "
        f"speculative: {{num_steps: 2, eagle_topk: 1, {values}}}}}\n"
    )
    report = validate([parse_document(text, "eaglecfg.yaml", str(tmp_path))], select=["EC302"])
    results = [each for each in sarif(report, roots)["results"] if each["ruleId"] == "EC302"]
    texts = [
        replacement["insertedContent"]["text"]
        for each in results
        for fix in each.get("fixes", [])
        for change in fix["artifactChanges"]
        for replacement in change["replacements"]
    ]
    assert texts == ([offered] if offered else [])
