"""The share of prompts that is kept for the final claim must leave some for the search."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Fix, Item, NotChecked, Rule, Severity, Today
from eaglecfg.rules.study.parts import study_model


def check(context: Context) -> Iterator[Item]:
    """``holdout`` is a share: at least 0, below 1."""
    study = study_model(context)
    if study is None:
        yield NotChecked("the study file lacks keys that it needs")
        return
    share = study.workload.holdout
    if 0 <= share < 1:
        return
    percent = f"write {share / 100:g}" if 1 < share < 100 else "write 0.25"
    fix = None
    if 1 < share < 100:
        text = f"{share / 100:g}"
        fix = Fix(f"set holdout to {text}", ("workload", "holdout"), text, safe=False)
    yield Finding(
        f"workload.holdout takes a share from 0 to below 1, not {share:g}",
        path=("workload", "holdout"),
        why="no prompts would be left to search with, or fewer than none kept",
        help=percent,
        fix=fix,
    )


RULE = Rule(
    id="EC710",
    slug="holdout-share",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=check,
    scope="study",
)
