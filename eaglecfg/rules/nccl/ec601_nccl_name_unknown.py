"""A variable that NCCL never reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from eaglecfg.nccl.version import at_least
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Fix, Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings
from eaglecfg.rules.remedies import without_variable

if TYPE_CHECKING:
    from eaglecfg.nccl.variables import Variable
    from eaglecfg.rules.nccl.settings import Settings

NEWEST_READ = "2.32.3"
"""The newest NCCL whose strings the facts were compared with."""


def check(ctx: Context) -> Iterator[Item]:
    """Every name that begins like NCCL's must be one that NCCL, torch or a plug-in reads."""
    view = settings(ctx)
    if view is None:
        yield NotApplicable()
        return
    from eaglecfg.engines.command import environment_name
    from eaglecfg.nccl.facts import variable_fact

    unchecked = {environment_name(name) for name in ctx.model.unchecked_variables}
    for variable in view.given.values():
        if variable.name.startswith("TORCH_NCCL_"):
            yield from _torch(view, variable)
        elif variable.name.startswith("NCCL_") and variable_fact(variable.name) is None:
            yield from _unknown(view, variable, unchecked)


def _unknown(view: Settings, variable: Variable, unchecked: set[str]) -> Iterator[Item]:
    from eaglecfg.nccl.facts import library_strings, related
    from eaglecfg.nccl.names import meant

    name, table = variable.name, related()
    if name in table["torch_old"] or name in table["not_settings"] or name == "NCCL_TUNER_CONFIG_FILE":
        return  # other rules speak of these, or nobody needs to
    if name in unchecked:
        message = f"{name} is handed on unchecked, as unchecked_variables asks"
        yield view.finding(name, message, at_key=True, severity=Severity.INFO)
        return
    reader = next((who for start, who in table["plugins"].items() if name.startswith(start)), None)
    if reader is not None:
        message = f"{name} is read by {reader}, not by NCCL itself; it does nothing without that"
        yield view.finding(name, message, at_key=True, severity=Severity.INFO)
        return
    beyond = not at_least(NEWEST_READ, view.version)
    if name in library_strings() and name not in table["renamed"]:
        message = f"{name} is a name inside NCCL's code, and no variable that it reads"
        fix = without_variable(view, name, safe=not beyond)
        yield view.finding(name, message, at_key=True, help=f"remove {name}", fix=fix)
        return
    near, turned = meant(name)
    said = f"; the nearest name is {near}" if near else f"; {turned} says the opposite" if turned else ""
    why = "NCCL asks for the names that it knows and never reports others"
    if beyond:
        why = f"the newest library whose names were read is {NEWEST_READ}, and {view.version} runs"
    advice = f"write {near}" if near else _turned(variable.text, turned) if turned else "remove it"
    yield view.finding(
        name,
        f"NCCL {'as far as ' + NEWEST_READ + ' ' if beyond else ''}reads no variable {name}{said}",
        at_key=True,
        severity=Severity.WARNING if beyond else None,
        why=why,
        help=advice + ", or list it under unchecked_variables if the library really has it",
        fix=_fix(view, variable, near),
        values={"nearest": near or turned},
    )


def _turned(text: str, name: str) -> str:
    """What to write under the name that says the opposite."""
    from eaglecfg.nccl.integers import meaning

    meant = meaning(text)
    if meant in (0, 1):
        return f"{name}={1 - meant} is what {text} means here: write that"
    return f"write {name}, where 1 and 0 mean the opposite"


def _fix(view: Settings, variable: Variable, near: str | None) -> Fix | None:
    """The name that is near, spelled as the key was: with its prefix or without, in its case of letters."""
    if near is None or near in view:
        return None
    path = view.path(variable.name)
    old = str(path[-1])
    new = near if old.upper().startswith("NCCL_") else near.removeprefix("NCCL_")
    new = new.lower() if old == old.lower() else new
    return Fix(f"write {new} for {old}", path, new, kind="rename")  # not safe: NCCL reads it from then on


def _torch(view: Settings, variable: Variable) -> Iterator[Item]:
    from eaglecfg.nccl.facts import related, variable_fact

    known = related()["torch"]
    if variable.name in known:
        return
    from eaglecfg.nccl.names import nearest

    bare = variable.name.removeprefix("TORCH_")
    meant = bare if variable_fact(bare) is not None else nearest(variable.name, list(known), "TORCH_NCCL_")
    yield view.finding(
        variable.name,
        f"torch reads no variable {variable.name}",
        at_key=True,
        severity=Severity.WARNING if meant else Severity.INFO,
        why="torch asks for the names that it knows and never reports others",
        help=f"did you mean {meant}?" if meant else "remove it, unless another part of the server reads it",
    )


RULE = Rule(
    id="EC601",
    slug="nccl-name-unknown",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    research=("nccl/N001",),
)
