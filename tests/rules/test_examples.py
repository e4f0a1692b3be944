"""Every rule is documented, and its own examples show what it finds and what it lets pass."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.rules.examples import answer_of, docs_path, expected, materialize, read_docs, server_of
from eaglecfg.rules.model import Rule, Severity
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.registry import ALL_RULES
from eaglecfg.rules.runner import validate
from eaglecfg.rules.weights.reading import weigher
from eaglecfg.source.read import read_document

Example = Mapping[str, Any]


def examples(kind: str) -> list[Any]:
    documented = [rule for rule in ALL_RULES if docs_path(rule).exists()]  # the others fail in the test below
    return [
        pytest.param(rule, example, id=f"{rule.id}-{number}")
        for rule in documented
        for number, example in enumerate(getattr(read_docs(rule), kind))
    ]


def report_of(example: Example, folder: Path) -> Report:
    paths = [materialize(example, folder)]
    if (folder / "study.yaml").exists():
        paths.append(folder / "study.yaml")
    says, server = answer_of(example), server_of(example)
    weigh = weigher() if "weights" in example else None
    documents = [read_document(path) for path in paths]
    return validate(documents, ask=lambda _: says, look=lambda _: server, weigh=weigh)


def loud(report: Report) -> dict[str, str]:
    """Rule id to message of every error and warning."""
    return {
        found.rule.id: found.finding.message
        for found in report.findings
        if found.severity is not Severity.INFO
    }


def everything_said(report: Report, rule: Rule) -> str:
    parts = []
    for found in report.findings:
        if found.rule.id == rule.id:
            finding = found.finding
            parts += [finding.message, finding.why, finding.help, *finding.arithmetic]
            parts += [f"{item.file} {item.key} {item.text} {item.note}" for item in finding.evidence]
    return "\n".join(parts)


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.id)
def test_documentation_is_complete(rule: Rule) -> None:
    docs = read_docs(rule)
    assert docs.summary.endswith(".")
    assert all((docs.what, docs.why, docs.fix))
    assert docs.failing, "a rule without a failing example proves nothing"
    assert docs.passing
    assert all(example["title"] for example in (*docs.failing, *docs.passing))


@pytest.mark.parametrize(("rule", "example"), examples("failing"))
def test_failing_example_is_found_and_nothing_else(rule: Rule, example: Example, tmp_path: Path) -> None:
    report = report_of(example, tmp_path)
    assert not report.crashes
    assert rule.id in {found.rule.id for found in report.findings}
    assert not {id: text for id, text in loud(report).items() if id != rule.id}
    said = everything_said(report, rule)
    assert not [text for text in expected(example) if text not in said]


@pytest.mark.parametrize(("rule", "example"), examples("passing"))
def test_passing_example_is_quiet(rule: Rule, example: Example, tmp_path: Path) -> None:
    report = report_of(example, tmp_path)
    assert not report.crashes
    assert not loud(report)
