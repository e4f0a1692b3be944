"""The deployment that a study tunes must be in the config file that it names."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Fix, Item, NotChecked, Rule, Severity, Today
from eaglecfg.rules.study.parts import study_model
from eaglecfg.schema.wording import nearest


def check(context: Context) -> Iterator[Item]:
    """Look the name up among the deployments of the config file."""
    study = study_model(context)
    if study is None or context.study_config is None:
        yield NotChecked("needs the config file of the study")
        return
    data = context.study_config.document.data
    written = data.get("deployments") if isinstance(data, dict) else None
    names = list(written) if isinstance(written, dict) else []
    if study.deployment in names:
        return
    near = nearest(study.deployment, names)
    known = f"it has {', '.join(names[:5])}" if names else "it has none"
    yield Finding(
        f"{study.config} has no deployment {study.deployment}; {known}",
        path=("deployment",),
        why="there is nothing to tune",
        fix=Fix(f"set deployment to {near}", ("deployment",), near, safe=False) if near else None,
        help=f"write {near}" if near else "write the name of one of its deployments",
    )


RULE = Rule(
    id="EC702",
    slug="study-deployment",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=check,
    scope="study",
    follows=("EC701",),
)
