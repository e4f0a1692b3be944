"""A name under env that no program asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Fix, Item, NotApplicable, Rule, Severity, Today

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UPPER = re.compile(r"(NCCL|TORCH_NCCL|SGLANG|PYTORCH)_[A-Z0-9_]*")
"""Names of these beginnings are all in upper case, whoever reads them."""


def check(ctx: Context) -> Iterator[Item]:
    """Names must be such that a shell can set them, in the letters in which they are asked for."""
    if not ctx.model.env:
        yield NotApplicable()
        return
    for name in ctx.model.env:
        if name not in ctx.copied and _wrong(name):
            yield _finding(ctx, name)


def _wrong(name: str) -> bool:
    if _NAME.fullmatch(name) is None:
        return True
    if name == name.upper():
        return name.startswith("NCCL") and "_" not in name and _meant(name) is not None
    if _UPPER.fullmatch(name.upper()):
        return True
    return name.upper().startswith(("NCCL", "CUDA")) and _meant(name) is not None


def _finding(ctx: Context, name: str) -> Finding:
    meant, path = _meant(name), ctx.where("env", name)
    shown = f"'{name}'"
    possible = _NAME.fullmatch(name) is not None
    new = meant if meant is not None and meant not in ctx.model.env else None
    return Finding(
        f"env: {shown} is a name that nothing asks for"
        if possible
        else f"env: {shown} is no name of an environment variable",
        path=path,
        at_key=True,
        today=Today.SILENT if possible else Today.REFUSED,
        why="the case of the letters and every underscore count in names of variables"
        if possible
        else "names are letters, digits and underscores, with no digit in front; no shell can set others",
        help=f"write {meant}" if meant else "write the name as its reader spells it, or remove the line",
        fix=Fix(f"write {new} for {name}", path, new, kind="rename") if new else None,
        values={"name": name, "meant": meant},
    )


def _meant(name: str) -> str | None:
    """The one name that has the same letters and digits."""
    from eaglecfg.nccl.engine_writes import engine_variables
    from eaglecfg.nccl.facts import related, variable_names

    bare = re.sub(r"[^A-Z0-9]", "", name.upper())
    known: tuple[str, ...] = (
        *variable_names(),
        *related()["torch"],
        *engine_variables("sglang"),
        "CUDA_VISIBLE_DEVICES",
    )
    found = [one for one in known if bare and one.replace("_", "") == bare]
    if found:
        return found[0]
    return name.upper() if _UPPER.fullmatch(name.upper()) and name != name.upper() else None


RULE = Rule(
    id="EC643",
    slug="environment-name",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
)
