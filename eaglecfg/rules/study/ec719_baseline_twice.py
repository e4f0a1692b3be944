"""A baseline is named once."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Fix, Item, NotChecked, Rule, Severity, Today
from eaglecfg.rules.study.parts import study_model


def check(context: Context) -> Iterator[Item]:
    """Look for repetitions."""
    study = study_model(context)
    if study is None:
        yield NotChecked("the study file lacks keys that it needs")
        return
    for index, name in enumerate(study.baselines):
        if name in study.baselines[:index]:
            path = ("baselines", index)
            yield Finding(
                f"baselines has {name} twice",
                path=path,
                why="it is launched as often as if it stood there once; launches are counted by the budget",
                help="remove one",
                fix=Fix(f"remove the second {name}", path, safe=True, kind="remove"),
            )


RULE = Rule(
    id="EC719",
    slug="baseline-twice",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=check,
    scope="study",
)
