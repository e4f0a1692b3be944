"""Prompts come from a file or are random: one of the two."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, NotChecked, Rule, Severity, Today
from eaglecfg.rules.study.parts import study_model


def check(context: Context) -> Iterator[Item]:
    """Exactly one source, and random prompts enough for search and claim."""
    study = study_model(context)
    if study is None:
        yield NotChecked("the study file lacks keys that it needs")
        return
    work = study.workload
    if work.prompts is None and work.random is None:
        yield Finding(
            "workload has neither prompts nor random",
            path=("workload",),
            why="the server would have nothing to answer",
            help="name a JSON Lines file with prompts, or write random: {count: 64, input_tokens: 512}",
        )
    elif work.prompts is not None and work.random is not None:
        yield Finding(
            "workload has prompts and random, where one of the two is expected",
            path=("workload", "random"),
            why="it is not known which of them would be measured",
            help="take one out",
        )
    elif work.random is not None and 0 < work.holdout < 1:
        count = work.random.count
        if round(count * work.holdout) in (0, count):
            yield Finding(
                f"workload.random.count is {count}, too few to keep a {work.holdout:g} share for the claim",
                path=("workload", "random", "count"),
                severity=Severity.WARNING,
                why="search and claim would rest on the same prompts",
                help="raise count",
            )


RULE = Rule(
    id="EC715",
    slug="workload-source",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=check,
    scope="study",
)
