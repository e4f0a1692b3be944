"""The hidden-state path of a deployment: what flows, how wide, on which ranks, and who says so."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from eaglecfg.engines.datapath import ONE_RANK, Hop, Size, data_path
from eaglecfg.engines.wiring import wiring_of
from eaglecfg.report.all_reduce import as_data, section
from eaglecfg.report.counts import counted
from eaglecfg.report.styled import Line, Part, Style, line, wrapped
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Severity
from eaglecfg.rules.runner import check_context
from eaglecfg.source.secrets import redact_data

_SEEN: dict[bool | None, tuple[str, Style]] = {
    True: ("verified", "good"),
    False: ("DIFFERS", "error"),
    None: ("not seen in a file", "dim"),
}


_UNDIVIDED: tuple[str, Style] = ("DOES NOT DIVIDE", "error")

_SPREAD = {"partial": "a partial sum of its own"}


def hops_of(context: Context) -> tuple[Hop, ...]:
    """The hops of one deployment; empty where there is no draft, or its files do not tell enough."""
    if context.engine is None or context.boundaries is None or context.resolution is None:
        return ()
    if context.draft is None or context.target is None:
        return ()
    wiring = wiring_of(context.engine, context.target.config, context.draft.config)
    if wiring is None:
        return ()
    return data_path(
        context.engine,
        context.target,
        context.draft,
        wiring,
        context.boundaries,
        context.resolution,
        context.model.hardware.gpu if context.model.hardware is not None else None,
    )


def missing(context: Context) -> str:
    """Why there are no hops, in one sentence."""
    if context.draft is None or not context.speculates:
        return "the deployment launches no draft, so no hidden state leaves the target"
    if context.engine is None:
        return "the config names no engine whose facts ship with eaglecfg"
    unread = [
        f"{part.shown}/config.json"
        for part in (context.target, context.draft)
        if part is not None and part.config is None
    ]
    if unread:
        return f"{' and '.join(unread)} could not be read; `eaglecfg validate` says why"
    if context.boundaries is None:
        return "this engine version has no class of its own for the target; `eaglecfg validate` says more"
    return "the draft is no EAGLE-3 class that this engine version builds; `eaglecfg validate` says more"


def render(context: Context, width: int) -> list[Line]:
    """The path of one deployment as text."""
    assert context.deployment is not None
    engine = f"{context.engine.name} {context.engine.version}" if context.engine is not None else "no engine"
    head = f"{context.deployment.name}: the hidden states on {engine}, {_ranks(context)}"
    out = [line(Part(head, "bold")), ()]
    hops = hops_of(context)
    if not hops:
        return [*out, *wrapped(line("  "), missing(context), width, "   "), (), *section(context, width)]
    first = 1
    for _, alike in groupby(hops, key=lambda hop: (hop.spread, hop.why)):
        group = list(alike)
        out += _group(group, first, len(str(len(hops))), width, hops[0].why == ONE_RANK)
        first += len(group)
    return [*out, *section(context, width), (), *_verdict(context, hops, width)]


def _group(hops: Sequence[Hop], first: int, digits: int, width: int, alone: bool) -> list[Line]:
    """Neighbouring hops of one kind: a line or two each, then what holds for all of them.

    ``alone``: there is one rank, so that nothing is to be said of what it holds.
    """
    indent = " " * (digits + 3)
    names = max(len(hop.name) for hop in hops)
    out: list[Line] = []
    for number, hop in enumerate(hops, first):
        word, style = _SEEN[hop.verified] if hop.divides else _UNDIVIDED
        shapes = _shape(hop.full)
        if not alone:
            shapes += f" → {_shape(hop.per_rank)} per rank, {_SPREAD.get(hop.spread, hop.spread)}"
        mark = Part(f"   {word}" if hop.verified is not None or not hop.divides else "", style)
        lead = Part(f" {number:>{digits}}  ", "dim")
        out.append(line(lead, Part(f"{hop.name:<{names}}", "bold"), "  ", shapes, mark))
        out += wrapped(line(indent[:-1]), hop.what, width, indent)
    out += wrapped(line(indent, Part("why:", "dim")), hops[0].why, width, indent + "     ")
    sources = dict.fromkeys(source for hop in hops for source in hop.evidence)
    for source in sources:
        text = " ".join(part for part in (source.file, source.key, source.text) if part)
        out.append(line(indent, Part(f"::: {text}", "dim")))
    return [*out, ()]


def _verdict(context: Context, hops: Sequence[Hop], width: int) -> list[Line]:
    captured = next((hop for hop in hops if hop.name.startswith("capture")), hops[0])
    report = check_context(context)
    errors, warnings = report.count(Severity.ERROR), report.count(Severity.WARNING)
    undivided = next((hop for hop in hops if not hop.divides), None)
    short = captured.why
    if undivided is not None:
        short = undivided.why
    elif captured.spread == "partial":
        short = f"a captured state differs from rank to rank: {captured.why}"
    elif context.boundaries is not None and context.boundaries.decode is not None:
        decode = next(hop for hop in hops if hop.name == "capture in CUDA graphs")
        short = f"decode and verify capture other layers than prefill: {decode.why}"
    out = wrapped(line(Part("In short:", "bold")), short, width, "  ")
    if errors or warnings:
        says = (
            f"{counted(errors, 'error')} and {counted(warnings, 'warning')}; `eaglecfg validate` shows them."
        )
        lead = line(Part("Findings:", "error" if errors else "warning"))
        return [*wrapped(lead, says, width, "  "), *out]
    return out


def _ranks(context: Context) -> str:
    resolution = context.resolution
    ranks: Any = resolution.runs("attention.tp_size") if resolution is not None else None
    groups: Any = (resolution.runs("attention.dp_size") if resolution is not None else None) or 1
    words = "one rank" if ranks == 1 else f"{ranks} attention ranks" if ranks else "ranks not known"
    return words if groups == 1 else f"{groups} groups of data-parallel attention with {words} each"


def _shape(shape: Sequence[Size]) -> str:
    return "[" + ", ".join("?" if size is None else str(size) for size in shape) + "]"


def as_json(contexts: Sequence[Context]) -> str:
    """The paths of several deployments as JSON text."""
    rows = []
    for context in contexts:
        assert context.deployment is not None
        hops = hops_of(context)
        rows.append(
            {
                "name": context.deployment.name,
                "engine": f"{context.engine.name} {context.engine.version}" if context.engine else None,
                "hops": [asdict(hop) for hop in hops],
                "reason": missing(context) if not hops else None,
                "all_reduce": as_data(context),
            }
        )
    rows = redact_data(rows)
    return json.dumps({"version": 1, "deployments": rows}, indent=2, ensure_ascii=False, default=str) + "\n"


def traced(context: Context) -> bool:
    """Whether there was something to show; a deployment without speculation has nothing to miss."""
    return not context.speculates or bool(hops_of(context))
