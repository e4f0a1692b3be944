"""Variables of the launch must not be ones that the study searches."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Fix, Item, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.study.parts import deployment_of, study_model
from eaglecfg.source.span import KeyPath


def check(context: Context) -> Iterator[Item]:
    """Look at launch.env and at what the prefix sets: env NAME=value, docker run -e NAME=value, srun
    --export."""
    study, deployment = study_model(context), deployment_of(context)
    if study is None:
        yield NotChecked("the study file lacks keys that it needs")
        return
    if deployment is None:
        yield NotApplicable()
        return
    from eaglecfg.rules.study.surroundings import hidden_variables

    launch = study.launch
    for found in hidden_variables(launch.env, launch.prefix, study.space, deployment.model):
        path: KeyPath = ("launch", *found.at)
        name = found.what.partition("=")[0]
        in_prefix = found.at[0] == "prefix"
        yield Finding(
            f"launch.{found.at[0]} sets {found.what}, which {found.setter}",
            path=path,
            why="the prefix has the last word: every setting would run with this value, whatever it is called"
            if in_prefix
            else "launch.env is what is around every setting: it would act in those that leave the variable "
            "out, and in no other",
            help=f"take {name} out of launch.{found.at[0]}, and set it in the deployment or the space alone",
            fix=None if in_prefix else Fix(f"remove {name}", path, kind="remove", safe=False),
            values={"name": name},
        )


RULE = Rule(
    id="EC716",
    slug="launch-hides-variable",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    scope="study",
    follows=("EC702", "EC703"),
)
