"""Fixes that several rules make: of a setting, of a variable, of a key that is to be added."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from eaglecfg.record import replace
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Fix
from eaglecfg.source.span import KeyPath

if TYPE_CHECKING:
    from eaglecfg.rules.nccl.settings import Settings


def leave_out(context: Context, name: str, *, safe: bool = False) -> Fix | None:
    """Take out the server setting ``name``, wherever the deployment gives it; None where it does not.

    ``safe`` where the engine ignores the setting, or turns it off itself: what runs stays the same.
    """
    path, safe = _given(context, name), safe and settled(context)
    return Fix(f"remove {path[-1]}", path, "", safe, "remove") if path is not None else None


def write(context: Context, name: str, value: Any) -> Fix | None:
    """Give the server setting ``name`` another value; None where the deployment does not give it."""
    path = _given(context, name)
    return Fix(f"set {path[-1]} to {_source(value)}", path, _source(value)) if path is not None else None


def give(context: Context, path: KeyPath, value: Any, *, safe: bool = False) -> Fix:
    """Add a key to the deployment; ``path`` is inside it, as in ``("server", "dtype")``."""
    assert context.deployment is not None
    at = ("deployments", context.deployment.name, *path)
    return Fix(f"add {'.'.join(map(str, path))}: {_source(value)}", at, _source(value), safe, "add")


def without(context: Context, *path: str, safe: bool = False) -> Fix | None:
    """Take out the key at ``path`` inside the deployment; None where it is not given."""
    at, safe = _exactly(context, path), safe and settled(context)
    return Fix(f"remove {at[-1]}", at, "", safe, "remove") if at is not None else None


def without_variable(view: Settings, name: str, *, safe: bool = False) -> Fix | None:
    """Take an NCCL or engine variable out; None where the deployment does not set it.

    ``safe`` where nothing reads it, or something writes over it.
    """
    if name not in view:
        return None
    return Fix(f"remove {name}", view.path(name), "", safe and settled(view.ctx), "remove")


def write_variable(view: Settings, name: str, text: str) -> Fix | None:
    """Give a variable another text, as another value; None where the deployment does not set it."""
    if name not in view:
        return None
    return Fix(f"set {name} to {text}", view.path(name), text)


def respell_variable(view: Settings, name: str, text: str) -> Fix | None:
    """Spell the value that is meant as NCCL reads it: safe only where NCCL reads that value already.

    ``NCCL_P2P_DISABLE: true`` reads as 0, so that writing 1 turns something off that works today.
    """
    from eaglecfg.nccl.parse import parse

    fix, now = write_variable(view, name, text), view.parsed(name)
    if fix is None or now is None or now.taken is None or view.another:
        return fix
    return replace(fix, safe=parse(name, text, view.version).taken == now.taken)


def settled(context: Context) -> bool:
    """Whether it is known what the engine makes of its arguments: this very version was read."""
    return context.engine is None or context.engine.standing == "known"


def _given(context: Context, name: str) -> KeyPath | None:
    found = (context.arguments or {}).get(name)
    return _exactly(context, found.path) if found is not None else None


def _exactly(context: Context, path: KeyPath) -> KeyPath | None:
    """The document path of ``path``, None where only a parent of it stands in the file."""
    assert context.whole is not None
    return context.whole.origin.get(path)


def _source(value: Any) -> str:
    """``value`` as it is written in YAML. Text is quoted where it has to be when it is put in place."""
    return value if isinstance(value, str) else json.dumps(value)
