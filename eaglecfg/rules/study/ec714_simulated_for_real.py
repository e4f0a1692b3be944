"""Made-up weights and simulated acceptance must be asked for by name."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.study.parts import study_model
from eaglecfg.source.span import KeyPath

VARIABLE = "SGLANG_SIMULATE_ACC_LEN"
DUMMY = "dummy"


def check(context: Context) -> Iterator[Item]:
    """Look for the engine's switches where they are handed on unread; EC323 and EC324 look at deployments."""
    study = study_model(context)
    if study is None:
        yield NotChecked("the study file lacks keys that it needs")
        return
    if study.step_cost is not None:
        yield NotApplicable()
        return
    name = _name(context, study.launch.env)
    value = study.launch.env.get(name, "")
    if on(value):
        yield _finding(f"launch.env sets {name}={value}", ("launch", "env", name))
    if loads_dummy(study.launch.flags):
        yield _finding("launch.flags make the weights up (--load-format dummy)", ("launch", "flags"))


def _name(context: Context, env: Mapping[str, str]) -> str:
    """The variable, or the one of ``env`` that the engine copies to it."""
    if not env or context.study_config is None:
        return VARIABLE
    from eaglecfg.engines.copied import copies
    from eaglecfg.engines.table import facts_of

    facts = facts_of(context.study_config.engine)
    return VARIABLE if facts is None else copies(facts, env).get(VARIABLE, VARIABLE)


def on(text: str) -> bool:
    """Whether the variable's text switches the simulation on."""
    try:
        return float(text) > 0
    except ValueError:
        return False


def loads_dummy(flags: Sequence[str]) -> bool:
    """Whether flags make the engine invent the target's weights."""
    words = [part.replace("_", "-") for flag in flags for part in flag.split("=", 1)]
    return any(one == "--load-format" and two == DUMMY for one, two in itertools.pairwise(words))


def _finding(what: str, path: KeyPath) -> Finding:
    return Finding(
        f"{what}, and the study has no step_cost",
        path=path,
        why="accept lengths, gains of shapes and the winner would rest on acceptance that is not real, and "
        "nothing would say so",
        help="write step_cost: {accept_length: 2.5} instead, which marks every result, or take it out",
    )


RULE = Rule(
    id="EC714",
    slug="simulated-for-real",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    scope="study",
)
