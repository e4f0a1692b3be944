"""A value that looks like a variable of the shell's, and is handed on as these letters."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Fix, Item, NotApplicable, Rule, Severity, Today
from eaglecfg.source.span import KeyPath

_WHOLE = re.compile(r"\$(\{[A-Za-z_][A-Za-z0-9_]*\}|[A-Za-z_][A-Za-z0-9_]*)")
_PART = re.compile(r"\$(\{[A-Za-z_][A-Za-z0-9_]*\}|[A-Z_][A-Z0-9_]+)")


def check(ctx: Context) -> Iterator[Item]:
    """Only the variable's own name between braces is handed on; nothing else is put in its place."""
    given: list[tuple[str, str, KeyPath]] = []
    for block, values in (("env", ctx.model.env), ("nccl", ctx.model.nccl)):
        given += [(name, text, (block, name)) for name, text in values.items() if "$" in text]
    if not given:
        yield NotApplicable()
        return
    from eaglecfg.engines.command import environment_name, handed_on

    for key, text, path in given:
        name = environment_name(key) if path[0] == "nccl" else key
        if text != handed_on(name):
            yield from _finding(ctx, name, text, path)


def _finding(ctx: Context, name: str, text: str, path: KeyPath) -> Iterator[Item]:
    whole = _WHOLE.fullmatch(text) is not None
    found = re.search(_PART, text)
    if not whole and found is None:
        return
    at, own = ctx.where(*path), f"${{{name}}}"
    yield Finding(
        f"{name} is {text}, and reaches the server as these very letters: only {own} is handed on",
        path=at,
        severity=None if whole else Severity.WARNING,
        why="the launch puts no variable in place of a name inside a value",
        help=f"write {own} and set {name} where the server is launched, or write the value"
        if whole
        else "write the whole value, or set it where the server is launched and write " + own,
        fix=Fix(f"set {name} to {own}", at, own, safe=False) if whole else None,
        values={"name": name, "text": text},
    )


RULE = Rule(
    id="EC640",
    slug="variable-reference",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
)
