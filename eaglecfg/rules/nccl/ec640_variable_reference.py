"""A value that looks as if a shell, a template or a person had still to put something in its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from eaglecfg.record import record
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Fix, Item, NotApplicable, Rule, Severity, Today
from eaglecfg.source.span import KeyPath, show_path

if TYPE_CHECKING:
    from eaglecfg.source.references import Reference

_MARKS = ("$", "`", "{{", "<", "~", "TODO")
_MEANT = "where these letters are meant, accept the finding (# eaglecfg: ignore[EC640] why), as render does"


@record
class _Given:
    """A text of the deployment. ``own`` is the one reference that is handed on in its place. ``variable``:
    it is that of an environment variable. ``nested``: it stands in a mapping, where ``<tool call>`` is a
    token of the model."""

    label: str
    text: str
    path: KeyPath
    own: str
    variable: bool
    nested: bool = False


def check(ctx: Context) -> Iterator[Item]:
    """Only the variable's own name between braces is handed on; nothing else is put in its place."""
    given = [one for one in (*_variables(ctx), *_flags(ctx)) if any(mark in one.text for mark in _MARKS)]
    if not given:
        yield NotApplicable()
        return
    from eaglecfg.source.references import reference_in
    from eaglecfg.source.secrets import is_secret_name

    for one in given:
        found = reference_in(one.text) if one.text != one.own else None
        if found is None or (one.variable and found.kind == "home"):
            continue  # some programs expand it
        if found.kind == "placeholder" and one.nested:
            continue
        if found.whole or not is_secret_name(str(one.path[-1])):  # a password may hold any sign
            yield _finding(ctx, one, found)


def _variables(ctx: Context) -> Iterator[_Given]:
    for block, values in (("env", ctx.model.env), ("nccl", ctx.model.nccl)):
        for key, text in values.items():
            if text and not (block == "env" and key in ctx.copied):
                from eaglecfg.engines.command import environment_name, handed_on

                name = environment_name(key) if block == "nccl" else key
                yield _Given(name, text, (block, key), handed_on(name), True)


def _flags(ctx: Context) -> Iterator[_Given]:
    for name, given in (ctx.arguments or {}).items():
        if given.path[:1] != ("server",):
            continue
        for text, item in _texts(given.value):
            if any(mark in text for mark in _MARKS):
                from eaglecfg.source.references import variable_of

                own = f"${{{variable_of(name, item)}}}"
                # As every finding about a flag names it, whether or not the file abbreviates it.
                label = show_path((*given.path[:1], name, *given.path[2:]))
                yield _Given(label, text, given.path, own, False, isinstance(given.value, Mapping))


def _texts(value: Any, item: int | None = None) -> Iterator[tuple[str, int | None]]:
    """(text, its number in a list, from 1) of everything in a value."""
    if isinstance(value, str):
        yield value, item
    elif isinstance(value, list):
        for number, each in enumerate(value, 1):
            yield from _texts(each, number)
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from ((text, None) for text, _ in _texts(each))


def _finding(ctx: Context, one: _Given, found: Reference) -> Finding:
    at, shown = ctx.where(*one.path), one.text if len(one.text) <= 200 else f"{one.text[:197]}..."
    set_there = f"write {one.own} and set {one.own[2:-1]} where the server is launched"
    message = (
        f"{one.label} is {shown}, and reaches the server as these very letters: only {one.own} is handed on"
    )
    why = "the launch puts no variable in place of a name inside a value"
    fix = None
    if found.kind in ("placeholder", "template"):
        message = f"{one.label} is {shown}, which has still to be filled in"
        why, help_ = "the server would get these very letters", f"write the value; {_MEANT}"
    elif found.kind == "home":
        message = f"{one.label} is {shown}, and nothing expands ~: the engine looks for a folder of that name"
        why, help_ = "a shell turns ~ into a folder, and no shell reads this value", "write the whole path"
    elif found.whole:
        help_ = f"{set_there}, or write the value; {_MEANT}"
        if one.variable and found.kind == "variable":
            help_ = f"{set_there}, or write the value"
            fix = Fix(f"set {one.label} to {one.own}", at, one.own, safe=False)
    else:
        help_ = f"write the whole value; {_MEANT}"
        if one.variable:
            help_ = "write the whole value, or set it where the server is launched and write " + one.own
    return Finding(
        message,
        path=at,
        severity=None if found.whole else Severity.WARNING,
        why=why,
        help=help_,
        fix=fix,
        values={"name": one.label, "text": one.text, "part": found.part},
    )


RULE = Rule(
    id="EC640",
    slug="variable-reference",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
)
