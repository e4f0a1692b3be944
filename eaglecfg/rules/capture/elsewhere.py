"""What the same ids come to in other versions of the engine, and which ids come to wanted boundaries."""

from __future__ import annotations

from collections.abc import Sequence

from eaglecfg.engines.boundaries import effective_boundaries
from eaglecfg.rules.context import Context
from eaglecfg.rules.versions import all_versions, in_words

Ids = tuple[int, ...]


def captures_of(context: Context, ids: Ids | None, n: int) -> dict[str, Ids | None]:
    """Version, oldest first, to what it captures for ``ids``; None where some state is missing."""
    assert context.engine is not None
    architecture = _architecture(context)
    out: dict[str, Ids | None] = {}
    for facts in all_versions(context.engine):
        found = effective_boundaries(facts, architecture, n, ids)
        out[facts.version] = found.captured if found is not None and found.outcome == "captured" else None
    return out


def versions_capturing(context: Context, ids: Ids | None, n: int, wanted: Sequence[int]) -> str:
    """The versions that capture ``wanted`` for ``ids``, in words (``0.5.9 to 0.5.12``); empty without
    any."""
    captures = captures_of(context, ids, n)
    return in_words(list(captures), [version for version, got in captures.items() if got == tuple(wanted)])


def ids_for(context: Context, n: int, wanted: Sequence[int]) -> tuple[Ids, str] | None:
    """Ids that make this version capture ``wanted``, and in which versions they do, in words.

    Of the two conventions (ids count layer outputs, or boundaries) the one that holds in more versions
    wins: a file that means the same everywhere survives an upgrade. None when neither works here.
    """
    assert context.engine is not None
    best: tuple[int, Ids, str] | None = None
    for ids in (tuple(boundary - 1 for boundary in wanted), tuple(wanted)):
        here = effective_boundaries(context.engine, _architecture(context), n, ids)
        if here is None or here.outcome != "captured" or here.captured != tuple(wanted):
            continue
        captures = captures_of(context, ids, n)
        same = [version for version, got in captures.items() if got == tuple(wanted)]
        if best is None or len(same) > best[0]:
            best = len(same), ids, in_words(list(captures), same)
    return None if best is None else best[1:]


def _architecture(context: Context) -> str:
    """The target's class; the rules that come here have its boundaries, so there is one."""
    assert context.target is not None
    assert context.target.config is not None
    return context.target.config.architecture or ""
