"""What the same ids come to in other versions of the engine, and which ids come to wanted boundaries."""

from __future__ import annotations

from collections.abc import Sequence

from eaglecfg.engines.boundaries import effective_boundaries
from eaglecfg.record import record
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.versions import all_versions, in_words

Ids = tuple[int, ...]


@record
class Fitting:
    """Ids that make this version capture wanted boundaries.

    ``versions``: those whose prefill and decode both do, in words. ``here``: whether this version is among
    them; where it is not, its CUDA graphs capture ``graphs`` whatever the ids are.
    """

    ids: Ids
    versions: str
    here: bool
    graphs: Ids | None = None


def captures_of(context: Context, ids: Ids | None, n: int) -> dict[str, Ids | None]:
    """Version, oldest first, to what it captures for ``ids`` in prefill and decode alike.

    None where some state is missing, and where CUDA graphs capture other layers than prefill.
    """
    assert context.engine is not None
    architecture = _architecture(context)
    out: dict[str, Ids | None] = {}
    for facts in all_versions(context.engine):
        found = effective_boundaries(facts, architecture, n, ids, graphs=_graphs(context))
        whole = found is not None and found.outcome == "captured" and found.decode in (None, found.captured)
        out[facts.version] = found.captured if found is not None and whole else None
    return out


def versions_capturing(context: Context, ids: Ids | None, n: int, wanted: Sequence[int]) -> str:
    """The versions that capture ``wanted`` for ``ids``, in words (``0.5.9 to 0.5.12``); empty without
    any."""
    captures = captures_of(context, ids, n)
    return in_words(list(captures), [version for version, got in captures.items() if got == tuple(wanted)])


def ids_for(context: Context, n: int, wanted: Sequence[int]) -> Fitting | None:
    """Ids that make this version capture ``wanted``, and in which versions they do.

    Of the two conventions (ids count layer outputs, or boundaries) the one that holds in more versions
    wins: a file that means the same everywhere survives an upgrade. None when neither works here.
    """
    assert context.engine is not None
    best: tuple[int, Fitting] | None = None
    for ids in (tuple(boundary - 1 for boundary in wanted), tuple(wanted)):
        eager = effective_boundaries(context.engine, _architecture(context), n, ids, graphs=False)
        if eager is None or eager.outcome != "captured" or eager.captured != tuple(wanted):
            continue
        captures = captures_of(context, ids, n)
        same = [version for version, got in captures.items() if got == tuple(wanted)]
        if best is None or len(same) > best[0]:
            whole = effective_boundaries(
                context.engine, _architecture(context), n, ids, graphs=_graphs(context)
            )
            graphs = whole.decode if whole is not None else None
            here = graphs in (None, tuple(wanted))
            best = len(same), Fitting(ids, in_words(list(captures), same), here, None if here else graphs)
    return None if best is None else best[1]


def graphs_remark(context: Context, fitting: Fitting) -> str:
    """What to do beside writing the ids, where the CUDA graphs of this version do not follow them."""
    if fitting.here or fitting.graphs is None:
        return ""
    run = (
        f"run sglang {fitting.versions.replace(' and later', ' or later')}"
        if fitting.versions
        else "run another version"
    )
    return (
        f"; {run}, or set server.disable_cuda_graph: true, as the CUDA graphs of {engine_label(context)} "
        f"capture [{', '.join(map(str, fitting.graphs))}] whatever the ids are"
    )


def _graphs(context: Context) -> bool:
    return context.resolution is None or context.resolution.graphs


def _architecture(context: Context) -> str:
    """The target's class; the rules that come here have its boundaries, so there is one."""
    assert context.target is not None
    assert context.target.config is not None
    return context.target.config.architecture or ""
