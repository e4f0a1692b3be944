"""Every fix that a rule's own failing example offers, made: the finding is gone, and no new one is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.review.fix import fix
from eaglecfg.rules.examples import answer_of, materialize, read_docs
from eaglecfg.rules.model import Rule, Severity
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.registry import ALL_RULES
from eaglecfg.rules.runner import validate
from eaglecfg.source.document import Document
from eaglecfg.source.read import read_document

EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.id}-{number}")
    for rule in ALL_RULES
    for number, example in enumerate(read_docs(rule).failing)
]


FURTHER = {"EC122": {"EC123"}, "EC703": {"EC704"}}
"""What the rules see of an example once the fix is made, and could not see before."""


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_a_fixed_example_no_longer_fails(rule: Rule, example: Mapping[str, Any], tmp_path: Path) -> None:
    paths = [materialize(example, tmp_path)]
    if (tmp_path / "study.yaml").exists():
        paths.append(tmp_path / "study.yaml")
    documents = [read_document(path, path.name) for path in paths]
    says = answer_of(example)

    def check(now: Sequence[Document]) -> Report:
        return validate(now, ask=lambda _: says)

    before = check(documents)
    offered = [
        found for found in before.findings if found.rule.id == rule.id and found.finding.fix is not None
    ]
    if not offered:
        return
    fixed = fix(documents, check, select=[rule.id], unsafe=True)
    taken = [left for left in fixed.left if "is there already" not in left.reason]
    assert [left.reason for left in taken] == []
    assert len(fixed.made) + len(fixed.left) >= len(offered)
    if fixed.left:
        return
    standing = [found for found in fixed.report.findings if found.rule.id == rule.id]
    assert [found.finding.message for found in standing if found.finding.fix is not None] == []
    known = {each.rule.id for each in (*before.findings, *before.dropped)} | FURTHER.get(rule.id, set())
    new = [each for each in fixed.report.findings if each.rule.id not in known]
    loud = [each for each in new if each.severity is not Severity.INFO]
    assert [f"{each.rule.id} {each.finding.message}" for each in loud] == []


def test_many_rules_offer_a_fix() -> None:
    """Counted in the source, so that a fix cannot get lost unseen."""
    folder = Path(validate.__globals__["__file__"]).parent
    offering = [path.name for path in folder.rglob("ec*.py") if "fix=" in path.read_text(encoding="utf-8")]
    assert len(offering) >= 75
