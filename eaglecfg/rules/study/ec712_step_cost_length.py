"""The simulated accept length must be one that the shapes can yield."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.study.ec709_study_shapes import sources
from eaglecfg.rules.study.parts import deployment_of, study_model
from eaglecfg.schema.deployment import Speculative

_MOST = 10_000
PATH = ("step_cost", "accept_length")


def check(context: Context) -> Iterator[Item]:
    """A step yields at least one token, and at most one more than it drafts in a row."""
    study = study_model(context)
    if study is None:
        yield NotChecked("the study file lacks keys that it needs")
        return
    if study.step_cost is None:
        yield NotApplicable()
        return
    length = study.step_cost.accept_length
    if length < 1:
        yield Finding(
            f"step_cost.accept_length is {length:g}, and a verify step yields at least 1 token",
            path=PATH,
            why="the engine simulates 1 instead, and the result would say something else",
            help="write the accept length that is expected of the draft, such as 2.5",
        )
        return
    short = sorted(steps for steps in _steps(context) if steps >= 1 and steps + 1 < length)
    if short:
        listed = " and ".join(f"{steps + 1} with {steps} step{'s' * (steps > 1)}" for steps in short[:4])
        yield Finding(
            f"step_cost.accept_length is {length:g}, which counts as {listed}",
            path=PATH,
            severity=Severity.WARNING,
            why="a step yields at most one token more than it drafts; the result shows what was simulated",
            help="simulate an accept length that all step counts can yield, or leave the short ones out",
        )


def _steps(context: Context) -> set[int]:
    study = study_model(context)
    found: set[int] = set()
    if study is not None:
        for _, shapes in sources(context, study.space):
            found |= {shape[0] for shape in itertools.islice(shapes, _MOST) if shape[0] is not None}
    deployment = deployment_of(context)
    own = deployment.model.speculative if deployment is not None else None
    if isinstance(own, Speculative) and own.num_steps is not None:
        found.add(own.num_steps)
    return found


RULE = Rule(
    id="EC712",
    slug="step-cost-length",
    severity=Severity.ERROR,
    today=Today.REWRITTEN,
    check=check,
    scope="study",
)
