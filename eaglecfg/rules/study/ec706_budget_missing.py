"""A study without a limit goes on until its space is through."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, NotChecked, Rule, Severity, Today
from eaglecfg.rules.study.parts import study_model


def check(context: Context) -> Iterator[Item]:
    """One of launches, launches_each, hours and until should be given."""
    study = study_model(context)
    if study is None or context.study is None:
        yield NotChecked("the study file lacks keys that it needs")
        return
    if any(path[:1] == ("budget",) for path in context.study.refused):
        yield NotChecked("a limit was refused")
        return
    budget = study.budget
    if all(each is None for each in (budget.launches, budget.launches_each, budget.hours, budget.until)):
        yield Finding(
            "budget gives no limit: one of launches, launches_each, hours and until is expected",
            path=("budget",),
            why="the study holds the machine until every setting has been launched",
            help="write budget: {hours: 9}, for example",
        )


RULE = Rule(
    id="EC706",
    slug="budget-missing",
    severity=Severity.WARNING,
    today=Today.NOTHING,
    check=check,
    scope="study",
)
