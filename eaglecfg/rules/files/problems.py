"""From problems that the loader found to findings: one finding per checkpoint and rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from eaglecfg.checkpoint.facts import CheckpointFacts, FileProblem
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, NotApplicable, Severity, Today

Side = Literal["target", "draft"]
SHOWN = 3
"""Files that one finding shows; the others are counted."""

TRAINING = "eaglecfg-training.json"
SIDE_FILES = (
    "generation_config.json",
    "tokenizer_config.json",
    TRAINING,
    "hf_quant_config.json",
)


def checkpoints(context: Context) -> Iterator[tuple[Side, CheckpointFacts]]:
    """The checkpoints that the deployment loads; the draft only where speculation is on."""
    if context.target is not None:
        yield "target", context.target
    if context.draft is not None and context.speculates:
        yield "draft", context.draft


def weighted(context: Context) -> Iterator[tuple[Side, CheckpointFacts]]:
    """The checkpoints whose weight files are loaded: a load format of dummy leaves them alone."""
    for side, facts in checkpoints(context):
        if context.load_format(side) != "dummy":
            yield side, facts


def unreadable_record(problem: FileProblem) -> bool:
    """Whether ``problem`` keeps the training record from being read at all."""
    return problem.kind == "side-file-malformed" and problem.file.endswith(TRAINING)


def weights_unread(facts: CheckpointFacts) -> bool:
    """Whether tensors may stand in files that could not be read, so that a missing one proves nothing."""
    return any(problem.incomplete and not problem.file.endswith(SIDE_FILES) for problem in facts.problems)


def of_kinds(facts: CheckpointFacts, *kinds: str) -> list[FileProblem]:
    """The problems of these kinds, in the order in which they were found."""
    return [problem for problem in facts.problems if problem.kind in kinds]


def findings(
    context: Context,
    *kinds: str,
    why: str,
    severity: Severity | None = None,
    today: Today | None = None,
) -> Iterator[Finding | NotApplicable]:
    """A finding for every loaded checkpoint whose weight files have problems of ``kinds``."""
    sides = list(weighted(context))
    for side, facts in sides:
        problems = of_kinds(facts, *kinds)
        if problems:
            yield finding(context, side, problems, why=why, severity=severity, today=today)
    if not sides:
        yield NotApplicable()


def _state(kind: str) -> str:
    """A kind of problem as the state that the file is in."""
    if kind.startswith("missing"):
        return "absent"
    return "malformed" if kind.endswith("malformed") else kind.replace("-", " ")


def finding(
    context: Context,
    side: Side,
    problems: Sequence[FileProblem],
    *,
    why: str,
    severity: Severity | None = None,
    today: Today | None = None,
) -> Finding:
    """One finding about ``problems`` of one checkpoint, at the line that names it."""
    first, more = problems[0], len(problems) - 1
    others = f" (and {more:,} more such file{'s' * (more > 1)})" if more else ""
    evidence = [
        Evidence(problem.file, problem.key or "file", problem.text or _state(problem.kind))
        for problem in problems[:SHOWN]
    ]
    return Finding(
        f"{first.message}{others}",
        context.where(side, "checkpoint"),
        severity=severity,
        today=today,
        why=why,
        help=first.help,
        evidence=tuple(evidence),
        values={"checkpoint": side, "file": first.file, "problems": len(problems)},
        incomplete=any(problem.incomplete for problem in problems),
    )
