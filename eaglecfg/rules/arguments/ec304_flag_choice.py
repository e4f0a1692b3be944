"""A flag value that is not among the choices of this version."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eaglecfg.engines.arguments import Argument
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import listed
from eaglecfg.rules.model import Evidence, Finding, Fix, Item, Need, Rule, Severity, Today


def check(ctx: Context) -> Iterator[Item]:
    """A flag with choices takes one of them, letter for letter."""
    assert ctx.engine is not None
    assert ctx.arguments is not None
    flags = ctx.engine.flags
    for argument in ctx.arguments.values():
        fact = flags.get(flags.canonical(argument.name))
        if fact is None or not fact.choices or fact.name == "speculative_algorithm":
            continue  # a rule of its own knows which versions have an algorithm
        values = argument.value if isinstance(argument.value, list) else [argument.value]
        wrong = [str(value) for value in values if str(value) not in fact.choices]
        if not wrong:
            continue
        import difflib  # only on the way to a finding

        near = difflib.get_close_matches(wrong[0], fact.choices, n=1, cutoff=0.6)
        yield Finding(
            f"{argument.name} {wrong[0]} is not a choice of sglang {ctx.engine.version}",
            path=ctx.where(*argument.path),
            why="SGLang's argument parser stops",
            help=(f"did you mean {near[0]}? " if near else "")
            + f"choices are {listed(list(fact.choices), 8)}",
            evidence=(Evidence(f"sglang {ctx.engine.facts_of}", fact.source, listed(list(fact.choices), 8)),),
            fix=_fix(ctx, argument, near),
            values={argument.name: argument.value},
        )


def _fix(ctx: Context, argument: Argument, near: Sequence[str]) -> Fix | None:
    if not near or isinstance(argument.value, list):
        return None
    return Fix(f"set {argument.name} to {near[0]}", ctx.where(*argument.path), near[0])


RULE = Rule(
    id="EC304",
    slug="flag-choice",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
    needs=(Need.ENGINE,),
    follows=("EC303",),
)
