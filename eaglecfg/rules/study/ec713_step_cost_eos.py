"""Made-up weights end their answers anywhere: step cost needs answers of one length."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Fix, Item, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.study.parts import study_model

PATH = ("workload", "ignore_eos")


def check(context: Context) -> Iterator[Item]:
    """``workload.ignore_eos`` must not be off."""
    study = study_model(context)
    if study is None:
        yield NotChecked("the study file lacks keys that it needs")
    elif study.step_cost is None:
        yield NotApplicable()
    elif not study.workload.ignore_eos:
        yield Finding(
            "workload.ignore_eos is false, and answers of made-up weights end anywhere",
            path=PATH,
            why="settings would be timed on answers of different lengths",
            help="take ignore_eos out, or set it to true",
            fix=Fix("set ignore_eos to true", PATH, "true"),
        )


RULE = Rule(
    id="EC713",
    slug="step-cost-eos",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    scope="study",
)
