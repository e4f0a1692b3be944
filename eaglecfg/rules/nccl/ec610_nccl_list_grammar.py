"""NCCL_ALGO or NCCL_PROTO that NCCL cannot read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings
from eaglecfg.rules.remedies import respell_variable

if TYPE_CHECKING:
    from eaglecfg.nccl.parsed import Problem
    from eaglecfg.rules.nccl.settings import Settings


def check(ctx: Context) -> Iterator[Item]:
    """The lists must follow the grammar of the NCCL version that runs."""
    view = settings(ctx)
    if view is None:
        yield NotApplicable()
        return
    for variable, _ in view.known("list"):
        parsed = view.parsed(variable.name)
        for problem in parsed.problems if parsed is not None else ():
            if problem.code == "empty":
                continue
            fixed = _fixed(view, variable.name, problem.code)
            yield view.finding(
                variable.name,
                f"{view.spelled(variable.name)}: {_what(problem)}; {problem.outcome}",
                today=Today.REFUSED if "stops" in problem.outcome else Today.SILENT,
                why=_WHY.get(problem.code, f"the names are {problem.expected}, in any case"),
                help=f"write {fixed}" if fixed else _HELP.get(problem.code, f"use {problem.expected}"),
                values={"part": problem.part},
                fix=respell_variable(view, variable.name, fixed) if fixed else None,
            )


def _what(problem: Problem) -> str:
    return {
        "space": f"'{problem.part}' has a space in it, which is part of the name",
        "collective": f"{problem.part} is no collective",
        "entry": f"{problem.part} names no collective, and only the first entry may leave it out",
        "colon": f"{problem.part} follows a second colon",
        "caret": f"{problem.part} has ^ inside the list, where it stands only at the beginning",
        "prefix": "a collective is named",
    }.get(problem.code, f"{problem.part} is unknown")


_COLLECTIVES = "the collectives are broadcast, reduce, allgather, reducescatter and allreduce"
_WHY = {
    "space": "NCCL splits at commas, semicolons and colons, and keeps everything else",
    "collective": _COLLECTIVES,
    "entry": "an entry without a collective would undo the ones before it",
    "colon": "an entry is collective:list, and the rest is dropped",
    "caret": "^ turns a whole entry around",
    "prefix": "collectives in these lists came with 2.24",
}
_HELP = {
    "collective": _COLLECTIVES,
    "entry": "put it first, or name its collective",
    "colon": "separate entries by ; and names by commas",
    "caret": "write ^ once, before the first name of the entry",
    "prefix": "write one list without collectives, or run NCCL 2.24 or later",
}


def _fixed(view: Settings, name: str, code: str) -> str | None:
    """The list without its blanks, where that is all that is wrong with it."""
    from eaglecfg.nccl.parse import parse

    clean = "".join(view.text(name).split())
    return clean if code == "space" and not parse(name, clean, view.version).problems else None


RULE = Rule(
    id="EC610",
    slug="nccl-list-grammar",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
    research=(
        "nccl/A001",
        "nccl/A002",
        "nccl/A003",
        "nccl/A004",
        "nccl/A005",
        "nccl/A006",
        "nccl/A007",
    ),
)
