"""A start may not be expected to take longer than it is given."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, NotChecked, Rule, Severity, Today
from eaglecfg.rules.study.parts import study_model


def check(context: Context) -> Iterator[Item]:
    """Compare launch.start_s with launch.startup_s."""
    study = study_model(context)
    if study is None:
        yield NotChecked("the study file lacks keys that it needs")
        return
    start, limit = study.launch.start_s, study.launch.startup_s
    if start is not None and start > limit:
        given = "" if "startup_s" in study.launch.model_fields_set else ", its default"
        yield Finding(
            f"launch.start_s expects starts to take {start:g} s, above the start-up limit "
            f"launch.startup_s of {limit:g} s{given}",
            path=("launch", "start_s"),
            why="every launch would be ended before its server answers",
            help=f"write startup_s: {2 * start:g}, or a shorter start_s",
            values={"start_s": start, "startup_s": limit},
        )


RULE = Rule(
    id="EC718",
    slug="start-over-limit",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=check,
    scope="study",
)
