"""Entries of unchecked_variables that keep nothing from being checked."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Fix, Item, NotApplicable, Rule, Severity, Today


def check(ctx: Context) -> Iterator[Item]:
    """Each entry must name a variable that the deployment sets and the facts do not know."""
    entries = ctx.model.unchecked_variables
    if not entries:
        yield NotApplicable()
        return
    from eaglecfg.engines.command import environment_name
    from eaglecfg.nccl.facts import variable_fact
    from eaglecfg.nccl.variables import variables

    given = variables(ctx.model)
    for index, entry in enumerate(entries):
        name, path = environment_name(entry), ctx.where("unchecked_variables", index)
        if not entry.strip():
            what, severity = "an entry is empty", None
        elif name not in given:
            what, severity = f"{name} is set nowhere in this deployment", None
        elif variable_fact(name) is not None:
            what, severity = f"{name} is known, and is checked all the same", Severity.INFO
        else:
            continue
        yield Finding(
            f"unchecked_variables: {what}",
            path=path,
            severity=severity,
            why="an entry lets pass a name of NCCL's that the facts do not know, and nothing else",
            help="write the name as it stands under env or nccl, or remove the entry",
            fix=Fix("remove the entry", path, "", True, "remove"),
            values={"entry": entry},
        )


RULE = Rule(
    id="EC647",
    slug="unchecked-entry",
    severity=Severity.WARNING,
    today=Today.NOTHING,
    check=check,
)
