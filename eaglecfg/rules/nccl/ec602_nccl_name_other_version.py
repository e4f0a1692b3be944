"""A variable that this NCCL version does not read."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings
from eaglecfg.rules.remedies import without_variable


def check(ctx: Context) -> Iterator[Item]:
    """Every known variable must exist in the version that runs."""
    view = settings(ctx)
    if view is None:
        yield NotApplicable()
        return
    from eaglecfg.nccl.facts import variable_fact

    for variable in view.given.values():
        fact = variable_fact(variable.name)
        standing = view.standing(fact) if fact is not None else "there"
        if fact is None or standing in ("there", "open"):
            continue
        gone = fact.get("gone_in") or fact.get("until")
        if standing == "not yet":
            history, advice = f"it came with {fact.first}", f"run NCCL {fact.first} or later, or leave it out"
        else:
            last = (
                f"{fact.get('until')} was the last version with it"
                if fact.get("until")
                else f"gone by {gone}"
            )
            history, advice = last, f"use {fact.get('instead')}" if fact.get("instead") else "leave it out"
        yield view.finding(
            variable.name,
            f"NCCL {view.version} does not read {variable.name}; {history}",
            at_key=True,
            why=f"the setting changes nothing, and NCCL does not say so (version: {view.version_from})",
            fix=None
            if fact.get("instead")
            else without_variable(view, variable.name, safe=not view.version_from.startswith("assumed")),
            help=advice,
        )


RULE = Rule(
    id="EC602",
    slug="nccl-name-other-version",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    research=("nccl/N002",),
)
