"""Settings that the engine refuses together with a draft."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.arguments.refused import refused
from eaglecfg.rules.arguments.shape import algorithm
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, Need, NotApplicable, Rule, Severity, Today


def check(ctx: Context) -> Iterator[Item]:
    """No setting may be there that this version refuses under speculation, or under trees."""
    items = list(refused(ctx, speculation=True))
    if not items and algorithm(ctx) is None:
        yield NotApplicable()
    yield from items


RULE = Rule(
    id="EC330",
    slug="speculation-conflict",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
    needs=(Need.ENGINE,),
    follows=("EC301",),
    research=("PAR-04", "PAR-05", "ARG-29"),
)
