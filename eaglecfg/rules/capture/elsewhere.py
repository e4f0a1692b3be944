"""What the same ids come to in other versions of the engine, and which ids come to wanted boundaries."""

from __future__ import annotations

from collections.abc import Sequence

from eaglecfg.engines.boundaries import effective_boundaries
from eaglecfg.engines.table import known_versions, load_facts
from eaglecfg.rules.context import Context

Ids = tuple[int, ...]


def captures_of(context: Context, ids: Ids | None, n: int) -> dict[str, Ids | None]:
    """Version, oldest first, to what it captures for ``ids``; None where some state is missing."""
    assert context.engine is not None
    assert context.target is not None
    architecture = context.target.config.architecture if context.target.config is not None else None
    out: dict[str, Ids | None] = {}
    for version in known_versions(context.engine.name):
        facts = load_facts(context.engine.name, version)
        if facts is None or architecture is None:
            continue
        found = effective_boundaries(facts, architecture, n, ids)
        out[version] = found.captured if found is not None and found.outcome == "captured" else None
    return out


def versions_capturing(context: Context, ids: Ids | None, n: int, wanted: Sequence[int]) -> str:
    """The versions that capture ``wanted`` for ``ids``, in words (``0.5.9 to 0.5.12``); empty without any."""
    captures = captures_of(context, ids, n)
    return in_words(list(captures), [version for version, got in captures.items() if got == tuple(wanted)])


def in_words(known: Sequence[str], some: Sequence[str]) -> str:
    """A subset of ``known`` (ordered versions) as ranges: ``0.5.9 to 0.5.12 and from 0.5.17 on``."""
    runs: list[list[str]] = []
    for index, version in enumerate(known):
        if version not in some:
            continue
        if runs and runs[-1][-1] == known[index - 1]:
            runs[-1].append(version)
        else:
            runs.append([version])
    return " and ".join(_run_in_words(run, known) for run in runs)


def _run_in_words(run: Sequence[str], known: Sequence[str]) -> str:
    if run[-1] == known[-1]:
        return f"from {run[0]} on" if len(run) > 1 else run[0]
    return run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}"


def ids_for(context: Context, n: int, wanted: Sequence[int]) -> tuple[Ids, str] | None:
    """Ids that make this version capture ``wanted``, and in which versions they do, in words.

    Of the two conventions (ids count layer outputs, or boundaries) the one that holds in more versions wins:
    a file that means the same everywhere survives an upgrade. None when neither works here.
    """
    assert context.engine is not None
    assert context.target is not None
    architecture = context.target.config.architecture if context.target.config is not None else None
    best: tuple[int, Ids, str] | None = None
    for ids in (tuple(boundary - 1 for boundary in wanted), tuple(wanted)):
        here = (
            effective_boundaries(context.engine, architecture, n, ids) if architecture is not None else None
        )
        if here is None or here.outcome != "captured" or here.captured != tuple(wanted):
            continue
        captures = captures_of(context, ids, n)
        same = [version for version, got in captures.items() if got == tuple(wanted)]
        if best is None or len(same) > best[0]:
            best = len(same), ids, in_words(list(captures), same)
    return None if best is None else best[1:]
