"""Settings that the engine refuses: values that it does not take, and those that do not go together."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.arguments.refused import refused
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, Need, Rule, Severity, Today


def check(ctx: Context) -> Iterator[Item]:
    """Every check that this version makes of its arguments and that flags alone decide."""
    yield from refused(ctx, speculation=False)


RULE = Rule(
    id="EC350",
    slug="settings-refused",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
    needs=(Need.ENGINE,),
    follows=("EC301", "EC303", "EC304"),
)
