"""Flags of the launch must not be ones that the study searches."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.table import load_facts
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.study.parts import deployment_of, study_model


def check(context: Context) -> Iterator[Item]:
    """Look at launch.flags, which follow the deployment's own flags."""
    study, deployment = study_model(context), deployment_of(context)
    if study is None:
        yield NotChecked("the study file lacks keys that it needs")
        return
    if deployment is None or not study.launch.flags:
        yield NotApplicable()
        return
    from eaglecfg.rules.study.surroundings import hidden_flags

    engine = context.study_config.engine if context.study_config is not None else None
    facts = load_facts(engine.name, engine.version) if engine is not None else None
    for found in hidden_flags(study.launch.flags, study.space, study.baselines, deployment.model, facts):
        yield Finding(
            f"launch.flags give {found.what}, which {found.setter}",
            path=("launch", *found.at),
            why="of a flag that is given twice the engine takes the last: every setting would run with this "
            "one, whatever it is called",
            help="take it out of launch.flags, and set it in the deployment or the space alone",
            values={"flag": found.what},
        )


RULE = Rule(
    id="EC717",
    slug="launch-hides-flag",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    scope="study",
    follows=("EC702", "EC703"),
)
