"""The all-reduces of a deployment: who carries them, how large they are, what NCCL's model says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from eaglecfg.nccl.decode_path import DecodePath, Step
from eaglecfg.nccl.latency import CONSTANTS_SINCE, Estimate, chosen, estimates, latency_table, off_by
from eaglecfg.nccl.paths import FUSED, TITLES, Machine, Taken, size_words
from eaglecfg.nccl.version import at_least
from eaglecfg.report.styled import Line, Part, Style, line, wrapped
from eaglecfg.report.table import Table
from eaglecfg.rules.context import Context
from eaglecfg.rules.nccl.paths import pairs_for, path_of
from eaglecfg.rules.nccl.settings import Settings, look

HEAD = "All-reduce"
SHORT = {
    "fused": "FlashInfer, fused",
    "custom": "custom",
    "mscclpp": "MSCCL++",
    "pcie_ipc": "FlashInfer, PCIe",
    "torch_symm_mem": "torch symmetric memory",
    "nccl_symmetric": "NCCL, symmetric kernels",
    "nccl": "NCCL",
    "not_known": "not known",
    "none": "nothing",
}
"""What each carrier is called in a table."""


def section(context: Context, width: int) -> list[Line]:
    """The section of ``trace``: a line or two on who carries it, a table of sizes, and on estimates how far
    they can be trusted. One line where there is one rank or nothing is known."""
    path = path_of(context)
    if path is None:
        why = "no engine version that eaglecfg knows is named"
        return [*wrapped(line(Part(f"{HEAD}:", "bold")), why, width, "  ")]
    if path.small.carrier == "none":
        return wrapped(line(Part(f"{HEAD}:", "bold")), path.small.why, width, "  ")
    version = context.engine.version if context.engine is not None else ""
    out = [line(Part(f"{HEAD} over {path.ranks} ranks", "bold"))]
    for taken in path.takers:
        out += _carried(taken, version, width)
    if path.gathers:
        return out
    if path.steps:
        out += [(), *_table(context, path, width)]
        out += _notes(context, path, width)
    else:
        why = "sizes are not known: they need hidden_size of config.json and the shape of speculation"
        out += wrapped(line("  "), why, width, "  ")
    return out


def _carried(taken: Taken, version: str, width: int) -> Iterator[Line]:
    name = TITLES[taken.carrier]
    if taken.wanted:
        why = f"{taken.why}; declare {' and '.join(taken.wanted)}"
    else:
        why = taken.why
    if not taken.sure:
        why += "; not settled before the server starts, and NCCL carries what it does not"
    style: Style = "info" if taken.nccl else "plain"
    yield from wrapped(line("  ", Part(f"{name}:", style)), why, width, "    ")
    if taken.source:
        yield line("    ", Part(f"::: {_place(taken.source, version)}", "dim"))


def _place(source: str, version: str) -> str:
    """A line of the engine as the hops above name it: ``as in`` where it was read in another version."""
    code, _, wheel = source.rstrip(")").partition(" (")
    return f"{'' if wheel.endswith(f' {version}') else 'as in '}{wheel} {code}"


def _table(context: Context, path: DecodePath, width: int) -> Iterator[Line]:
    view = look(context)
    rows = [_row(view, path, step) for step in _shown(path)]
    head: tuple[str, ...] = ("", "batch", "tokens", "bytes a call", "calls", "carried by", "estimate")
    if not any(row[-1] for row in rows):
        head, rows = head[:-1], [row[:-1] for row in rows]
    if all(taken.carrier == "not_known" for taken in path.takers):
        head, rows = head[:-1], [row[:-1] for row in rows]
    table = Table((head, *rows), width, right=(1, 2, 3, 4))
    yield from table.lines(head, "dim")
    last = ""
    for row in rows:
        yield from table.lines(("", *row[1:]) if row[0] == last else row)
        last = row[0]


def _shown(path: DecodePath) -> Iterator[Step]:
    """The target's sizes, of the draft's the least and the greatest, and the chunk of prefill."""
    batches = {step.batch for step in path.steps}
    for step in path.by_weight:
        if step.phase.target or step.batch in (min(batches), max(batches)):
            yield step
    if path.contrast is not None:
        yield path.contrast


def _row(view: Settings, path: DecodePath, step: Step) -> tuple[str, ...]:
    phase = step.phase
    calls = "?" if phase.calls is None else str(phase.calls)
    if phase.forwards > 1:
        calls = f"{phase.forwards} x {calls}"
    return (
        phase.name,
        "1 chunk" if phase.name == "prefill" else str(step.batch),
        str(step.batch * phase.rows),
        size_words(step.size),
        calls,
        _cell(view, path, step),
        _estimate(view, path, step),
    )


def _cell(view: Settings, path: DecodePath, step: Step) -> str:
    said = [_one(view, path, step, step.layers)]
    if step.others.carrier != step.layers.carrier:
        said.append(f"the rest {_one(view, path, step, step.others)}")
    return "; ".join(said)


def _one(view: Settings, path: DecodePath, step: Step, taken: Taken) -> str:
    text = SHORT[taken.carrier]
    if taken.carrier == "fused" and taken.how != FUSED:
        text = "FlashInfer"
    if taken.carrier == "custom" and taken.how and "compiled" not in taken.how:
        text += f", {taken.how}"
    if taken.carrier == "nccl":
        may = choices(view, path, step)
        text += f", {' or '.join(each.name for each in may)}" if may else ""
    return text if taken.sure else f"{text}, or NCCL"


def choices(view: Settings, path: DecodePath, step: Step) -> tuple[Estimate, ...]:
    """What NCCL may choose for a step that it carries; empty where its model does not say."""
    if not _modelled(view):
        return ()
    machine = Machine(view.topology, view.gpu)
    return chosen(path.ranks, step.size, machine, pairs_for(view, path.ranks))


def _modelled(view: Settings) -> bool:
    return view.nodes == 1 and not view.another and at_least(view.version, CONSTANTS_SINCE)


def _estimate(view: Settings, path: DecodePath, step: Step) -> str:
    if "nccl" not in (step.layers.carrier, step.others.carrier):
        return ""
    may = choices(view, path, step)
    if not may:
        return ""
    low, high = min(each.low for each in may), max(each.high for each in may)
    text = f"{_span(low, high)} µs"
    count = _count(step)
    if count:
        text += f", {_together(low * count, high * count)} in all"
    return text


def _together(low: float, high: float) -> str:
    """A sum of times, in the unit that suits it."""
    return f"{_span(low, high)} µs" if high < 1000 else f"{_span(low / 1000, high / 1000)} ms"


def _count(step: Step) -> int | None:
    """All-reduces that NCCL carries between two verifies."""
    phase = step.phase
    if phase.calls is None or phase.fusible is None:
        return None
    inside = phase.fusible if step.layers.carrier == "nccl" else 0
    outside = phase.calls - phase.fusible if step.others.carrier == "nccl" else 0
    return (inside + outside) * phase.forwards


def _span(low: float, high: float) -> str:
    digits = 0 if high >= 10 else 1
    first, second = f"{low:.{digits}f}", f"{high:.{digits}f}"
    return first if first == second else f"{first}-{second}"


def _notes(context: Context, path: DecodePath, width: int) -> Iterator[Line]:
    view = look(context)
    passes = [step.phase for step in _shown(path) if step.phase.forwards > 1 and step.phase.calls is not None]
    if passes:
        first = passes[0]
        text = (
            f"all-reduces between two verifies; {first.forwards} x {first.calls} are {first.forwards} "
            f"passes of the draft with {first.calls} each"
        )
        yield from wrapped(line("  ", Part("calls:", "dim")), text, width, "    ")
    unknown = dict.fromkeys(step.phase.why for step in path.steps if step.phase.calls is None)
    for why in unknown:
        yield from wrapped(line("  ", Part("calls:", "dim")), why, width, "    ")
    if any(_estimate(view, path, step) for step in _shown(path)):
        yield from wrapped(line("  ", Part("estimate:", "dim")), trust(view, path.ranks), width, "    ")


def trust(view: Settings, ranks: int) -> str:
    """What the estimate is, and how far it was off where somebody looked."""
    measured = latency_table()["measured"]
    said = ", ".join(
        f"{protocol} {model:.1f} µs (measured {microseconds:.1f})"
        for protocol, model, microseconds in off_by()
    )
    text = (
        f"NCCL's own latency model, by which it chooses; a clock shows other numbers. For "
        f"{size_words(measured['bytes'])} on {measured['ranks']} {measured['gpu']} it says {said}"
    )
    if not Machine(view.topology, view.gpu).linked(ranks):
        text += ". The range is that of PCIe hosts: NCCL measures its bandwidth at start"
    return text


def as_data(context: Context) -> dict[str, Any] | None:
    """The section as plain data; None where no engine version is known."""
    path = path_of(context)
    if path is None:
        return None
    view = look(context)
    return {
        "ranks": path.ranks,
        "carriers": [_taken(taken) for taken in path.takers],
        "sizes": [_size(view, path, step) for step in path.steps],
        "prefill": _size(view, path, path.contrast) if path.contrast is not None else None,
        "nccl_version": None if view.another else view.version,
        "model": {
            "source": f"{latency_table()['source']} (libnccl {latency_table()['read_in']})",
            "measured": [
                {"protocol": protocol, "model_us": round(model, 2), "measured_us": microseconds}
                for protocol, model, microseconds in off_by()
            ],
        },
    }


def _taken(taken: Taken) -> dict[str, Any]:
    return {
        "carrier": taken.carrier,
        "kernel": taken.how or None,
        "why": taken.why,
        "most_bytes": taken.most,
        "source": taken.source or None,
        "sure": taken.sure,
        "wanted": list(taken.wanted),
    }


def _size(view: Settings, path: DecodePath, step: Step) -> dict[str, Any]:
    phase = step.phase
    nccl = "nccl" in (step.layers.carrier, step.others.carrier)
    machine = Machine(view.topology, view.gpu)
    return {
        "phase": phase.name,
        "batch": step.batch,
        "tokens": step.batch * phase.rows,
        "bytes": step.size,
        "forwards": phase.forwards,
        "calls_per_forward": phase.calls,
        "calls_fusible": phase.fusible,
        "calls_why": phase.why,
        "layers": _taken(step.layers),
        "others": _taken(step.others),
        "choices": _estimates(choices(view, path, step)) if nccl else [],
        "estimates": _estimates(estimates(path.ranks, step.size, machine))
        if nccl and _modelled(view)
        else [],
    }


def _estimates(found: Sequence[Estimate]) -> list[dict[str, Any]]:
    return [
        {
            "algorithm": each.algorithm,
            "protocol": each.protocol,
            "low_us": round(each.low, 2),
            "high_us": round(each.high, 2),
        }
        for each in found
    ]
