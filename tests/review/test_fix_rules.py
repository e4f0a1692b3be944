"""Every fix that a rule's own failing example offers, made: the finding is gone, no new one is there, and
what runs stays as it is where the fix says that it is safe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.record import replace
from eaglecfg.review.fix import fix
from eaglecfg.review.running import Running, outcome, running
from eaglecfg.rules.context import Checkpoints
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


Check = Callable[[Sequence[Document]], Report]


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_a_fixed_example_no_longer_fails_and_a_safe_fix_leaves_what_runs(
    rule: Rule, example: Mapping[str, Any], tmp_path: Path
) -> None:
    documents = _documents(example, tmp_path)
    says = answer_of(example)

    def check(now: Sequence[Document]) -> Report:
        return validate(now, ask=lambda _: says)

    before = check(documents)
    _is_mended(rule, documents, before, check)
    if any(each.finding.fix is not None and each.finding.fix.safe for each in before.findings):
        _runs_as_before(documents, before, check)


def _is_mended(rule: Rule, documents: Sequence[Document], before: Report, check: Check) -> None:
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


INERT = {
    "EC320": ("setting", "speculative_draft_sink_size"),
    "EC321": ("environment", "SGLANG_ENABLE_SPEC_V2"),
    "EC617": ("environment", "NCCL_P2P_LEVEL"),
    "EC620": ("environment", "NCCL_SYM_NOWIN_ENABLE"),
    "EC627": ("setting", "enable_torch_symm_mem"),
    "EC628": ("environment", "SGLANG_ENABLE_PCIE_IPC_ALLREDUCE"),
    "EC636": ("environment", "SGLANG_ENABLE_"),
}
"""What examples set to no effect, as their findings say, and a safe fix takes out: group and name (or its
beginning) of all that may be gone afterwards. Every other safe fix leaves each effective value as it is."""


def _runs_as_before(documents: Sequence[Document], before: Report, check: Check) -> None:
    """By the claim of each rule alone: the fixes that say they are safe are made, and nobody looks twice."""
    checkpoints = Checkpoints()

    def claimed(now: Sequence[Document]) -> Report:
        report = check(now)
        kept = [each for each in report.findings if each.finding.fix is not None and each.finding.fix.safe]
        return replace(report, findings=tuple(kept))

    fixed = fix(documents, claimed, unsafe=True)
    if not fixed.made:
        return
    for old, new in zip(documents, fixed.documents, strict=True):
        gone = _otherwise(running(old, checkpoints), running(new, checkpoints))
        inert = [INERT[each.rule.id] for each in fixed.made if each.rule.id in INERT]
        gone = [(group, name) for group, name in gone
                if not any(group == one and name.startswith(begin) for one, begin in inert)]  # fmt: skip
        assert gone == []
    after = check(fixed.documents)
    known = {each.rule.id for each in (*before.findings, *before.dropped)}
    order = [Severity.INFO, Severity.WARNING, Severity.ERROR]
    mended = max(order.index(each.severity) for each in fixed.made)
    new = [each for each in after.findings if each.rule.id not in known]
    assert [f"{each.rule.id} {each.severity}" for each in new if order.index(each.severity) >= mended] == []
    written = fix(documents, check)
    assert [each.text for each in written.documents] == [each.text for each in fixed.documents]


def _otherwise(before: Running, after: Running) -> list[tuple[str, str]]:
    """Group and name of every value that differs, one at a time."""
    names = [name for name in {**before.values, **after.values}
             if before.values.get(name) != after.values.get(name)]  # fmt: skip
    settings = [
        (deployment, flag)
        for deployment, settled in before.resolutions.items()
        for flag in {**settled.settings, **after.resolutions[deployment].settings}
        if outcome(settled, flag) != outcome(after.resolutions[deployment], flag)
    ]
    return [(group, name) for _, group, name in names] + [("setting", flag) for _, flag in settings]


def _documents(example: Mapping[str, Any], folder: Path) -> list[Document]:
    paths = [materialize(example, folder)]
    if (folder / "study.yaml").exists():
        paths.append(folder / "study.yaml")
    return [read_document(path, path.name) for path in paths]


def test_safe_fixes_are_there_to_be_tested() -> None:
    """Rules that say of a fix that it is safe, counted in the source."""
    folder = Path(validate.__globals__["__file__"]).parent
    sources = {path.name[:5].upper(): path.read_text("utf-8") for path in folder.rglob("ec*.py")}
    claiming = {name for name, text in sources.items() if "safe=" in text or "respell_variable(" in text}
    assert len(claiming) >= 25
    assert set(INERT) <= claiming


def test_many_rules_offer_a_fix() -> None:
    """Counted in the source, so that a fix cannot get lost unseen."""
    folder = Path(validate.__globals__["__file__"]).parent
    offering = [path.name for path in folder.rglob("ec*.py") if "fix=" in path.read_text(encoding="utf-8")]
    assert len(offering) >= 75
