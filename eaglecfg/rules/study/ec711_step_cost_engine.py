"""Step cost can be measured only on an engine that simulates acceptance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eaglecfg.engines.table import facts_of
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.study.parts import deployment_of, study_model
from eaglecfg.schema.deployment import Speculative


def check(context: Context) -> Iterator[Item]:
    """Look for the engine's switch, and whether it holds for the deployment's algorithm."""
    study = study_model(context)
    if study is None:
        yield NotChecked("the study file lacks keys that it needs")
        return
    if study.step_cost is None:
        yield NotApplicable()
        return
    config = context.study_config
    if config is None:
        return
    switch = _switch(context)
    if switch is None:
        named = f"{config.engine.name} {config.engine.version}" if config.engine is not None else "no engine"
        yield Finding(
            f"step_cost needs an engine that simulates acceptance, and {config.document.name} names {named}",
            path=("step_cost",),
            why="with made-up weights every draft is refused, so that the steps would not be those of a real "
            "server",
            help="name the SGLang version that serves, or take step_cost out and measure with real weights",
        )
        return
    deployment = deployment_of(context)
    shape = deployment.model.speculative if deployment is not None else None
    algorithm = shape.algorithm.upper() if isinstance(shape, Speculative) else "EAGLE3"
    if algorithm not in switch["algorithms"]:
        yield Finding(
            f"step_cost: acceptance is simulated for {', '.join(switch['algorithms'])}, not for {algorithm}",
            path=("step_cost",),
            why="the server would verify made-up drafts with made-up weights, and accept next to none",
            help="take step_cost out and measure with real weights",
        )


def _switch(context: Context) -> Mapping[str, Any] | None:
    engine = context.study_config.engine if context.study_config is not None else None
    facts = facts_of(engine)
    found = facts.values.get("simulated_acceptance") if facts is not None else None
    return found if isinstance(found, Mapping) else None


RULE = Rule(
    id="EC711",
    slug="step-cost-engine",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    scope="study",
)
