"""What NCCL's log says, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from eaglecfg.nccl.log.compare import Compared, spelled
from eaglecfg.nccl.log.evidence import size
from eaglecfg.nccl.log.facts import log_facts
from eaglecfg.nccl.log.judge import Verdict
from eaglecfg.nccl.log.model import Choice, Communicator, NcclLog
from eaglecfg.report.styled import Line, Part, Style, line, plain, visible, wrapped
from eaglecfg.report.table import Table

MOST_ROWS = 40
"""Rows of one list in the text; JSON has all."""
LONGEST = 300
"""Characters of one of NCCL's own texts."""

_STYLES: Mapping[str, Style] = {
    "acted": "good",
    "taken": "warning",
    "cannot tell": "warning",
    "contradicted": "error",
    "misread": "error",
    "overridden": "error",
    "not taken": "error",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """Everything that is printed. ``deployment`` is empty where no config was given, ``against`` where no
    other log was. ``of_the_log``: variables of the deployment that only make the log."""

    log: NcclLog
    deployment: str = ""
    verdicts: tuple[Verdict, ...] = ()
    against: str = ""
    compared: tuple[Compared, ...] = ()
    of_the_log: tuple[str, ...] = ()


def wanted() -> str:
    """The variables with which NCCL's log holds everything that is read here."""
    return f"NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS={','.join(log_facts()['proof_subsystems'])}"


def as_json(shown: Shown, *, version: str) -> str:
    """The log as JSON, version 1: keys are added, never renamed or dropped. ``version`` is the tool's."""
    log = shown.log
    data = {
        "version": 1,
        "tool": {"name": "eaglecfg", "version": version},
        "files": [asdict(one) for one in log.files],
        "nccl_versions": list(log.versions),
        "subsystems": sorted(log.subsystems),
        "processes": [asdict(one) for one in log.processes],
        "communicators": [{**asdict(one), "complete": one.complete} for one in log.communicators],
        "environment": [
            {"name": name, "values": [asdict(one) for one in values]}
            for name, values in log.environment.items()
        ],
        "refused": [asdict(one) for one in log.refused],
        "transports": [asdict(one) for one in log.edges],
        "multicast": log.multicast,
        "networks": list(log.networks),
        "tuners": list(log.tuners),
        "enabled": [asdict(one) for one in log.enabled],
        "costs": [asdict(one) for one in log.costs],
        "max_threads": [asdict(one) for one in log.threads],
        "choices": [_choice_data(one) for one in log.choices],
        "calls": [{**asdict(one), "by_rank": _by_rank(one.by_rank)} for one in log.calls],
        "disagreements": [asdict(one) for one in log.disagreements],
        "warnings": [asdict(one) for one in log.warnings],
        "cut_lines": log.cut,
        "dropped": log.dropped,
        "notes": _notes(log),
        "deployment": shown.deployment or None,
        "settings": [{**asdict(one), "failed": one.failed} for one in shown.verdicts]
        if shown.deployment
        else None,
        "against": shown.against or None,
        "compared": [{**asdict(one), "same": one.same} for one in shown.compared] if shown.against else None,
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _choice_data(choice: Choice) -> dict[str, Any]:
    data = asdict(choice)
    return {**data, "channels": list(choice.channels) if choice.channels is not None else None}


def _by_rank(counts: Mapping[int, int]) -> dict[str, int]:
    """Ranks as JSON keys; a process whose rank is not told counts under ``?``."""
    out: dict[str, int] = {}
    for rank, count in counts.items():
        key = str(rank) if rank >= 0 else "?"
        out[key] = out.get(key, 0) + count
    return out


def render(shown: Shown, width: int) -> list[Line]:
    """The log in brief, for people."""
    log = shown.log
    lines = _headline(log, width)
    parts = (
        ("communicators", _communicators(log, width)),
        (f"settings of {shown.deployment}", _verdicts(shown, width) if shown.deployment else iter(())),
        ("taken from the environment", _environment(shown, width)),
        ("refused", _texts([one.text for one in log.refused], width)),
        ("collectives", _choices(log, width)),
        (f"against {shown.against}", _compared(shown, width) if shown.against else iter(())),
        (
            "ranks disagree",
            _texts([_with_id(one.communicator, one.text) for one in log.disagreements], width),
        ),
        ("warnings of NCCL", _warnings(log, width)),
    )
    for heading, rows in parts:
        found = list(rows)
        if found:
            lines += [(), line(Part(visible(heading), "bold")), *_bounded(found)]
    notes = _notes(log)
    if notes:
        lines.append(())
        for note in notes:
            lines += wrapped(line(Part("note:", "info")), note, width, "      ")
    return lines


def _bounded(lines: Sequence[Line]) -> list[Line]:
    """The lines of the first rows. A row begins two columns in, and goes on further in where it is folded."""
    begins = [number for number, each in enumerate(lines) if plain([each])[2:3] not in ("", " ")]
    if len(begins) <= MOST_ROWS:
        return list(lines)
    left = len(begins) - MOST_ROWS
    more = line(Part(f"  and {left} more; --format json has all", "dim"))
    return [*lines[: begins[MOST_ROWS]], more]


def _headline(log: NcclLog, width: int) -> list[Line]:
    version = f"NCCL {' and '.join(log.versions)}" if log.versions else "NCCL, version not told"
    files = "1 file" if len(log.files) == 1 else f"{len(log.files)} files"
    processes = _count(len(log.processes), "process", "processes")
    text = f"{log.messages:,} messages of {processes} in {files}"
    return wrapped(line(Part(version, "bold"), " "), text, width, "  ")


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _communicators(log: NcclLog, width: int) -> Iterator[Line]:
    kinds: dict[str, list[str]] = {}
    for edge in log.edges:
        kinds.setdefault(edge.communicator or "", []).append(edge.kind)
    for group in log.communicators:
        texts = [_count(group.ranks_total, "rank", "ranks"), _where(group)]
        if len(group.members) < group.ranks_total:
            texts.append(f"{len(group.members)} of them in the log")
        if not all(member.complete for member in group.members):
            texts.append("initialisation not finished")
        if group.channels is not None:
            texts.append(_count(group.channels.collective, "channel", "channels"))
            texts.append(f"{group.channels.nvls} of NVLS" if group.channels.nvls else "no NVLS")
        texts += sorted(set(kinds.get(group.id, ())))
        lead = line("  ", Part(_short_id(group.id), "place"), " ")
        yield from wrapped(lead, visible(", ".join(filter(None, texts))), width, "      ")
    if "" in kinds:
        others = visible(", ".join(sorted(set(kinds[""]))))
        yield from wrapped(line("  transports of others:"), others, width, "      ")


def _where(group: Communicator) -> str:
    hosts = sorted({member.host for member in group.members})
    return f"on {', '.join(hosts[:3])}{' ...' if len(hosts) > 3 else ''}" if hosts else ""


def _short_id(ident: str) -> str:
    return visible(ident if len(ident) <= 40 else f"{ident[:18]}…{ident[-18:]}")


def _with_id(ident: str, text: str) -> str:
    return f"{_short_id(ident)}: {text}"


def _environment(shown: Shown, width: int) -> Iterator[Line]:
    log = shown.log
    asked = {one.name: one.asked for one in shown.verdicts}
    total = len([one for one in log.processes if one.environment])
    widest = max((len(name) for name in log.environment), default=0)
    for name, values in log.environment.items():
        texts = [
            one.value + (f" ({one.processes} of {total} processes)" if one.processes < total else "")
            for one in values
        ]
        values_shown = [one.value for one in values]
        beside = ""
        if shown.deployment and name not in asked and name not in shown.of_the_log:
            beside = "  (not in the config)"
        elif name in asked and values_shown != [asked[name]]:
            beside = f"  (asked: {asked[name]})"
        indent = " " * (widest + 4) if width - widest >= 44 else "      "
        text = _cut(", ".join(texts)) + _cut(beside)
        yield from wrapped(line(f"  {name:<{widest}} "), text, width, indent)


def _verdicts(shown: Shown, width: int) -> Iterator[Line]:
    if not shown.verdicts and shown.of_the_log:
        names = " and ".join(shown.of_the_log)
        makes = "makes" if len(shown.of_the_log) == 1 else "make"
        yield line(f"  it sets {names} alone, which {makes} the log")
    elif not shown.verdicts:
        yield line("  it sets no variable of NCCL")
    spelled = {one.name: f"{one.name}={one.asked}" for one in shown.verdicts}
    widest = min(max((len(name) for name in spelled.values()), default=0), 40)
    for one in shown.verdicts:
        why = _cut(one.why)
        if one.needs:
            why += f"; needs NCCL_DEBUG_SUBSYS={','.join(one.needs)}"
        lead = line(
            f"  {visible(spelled[one.name]):<{widest}}  ", Part(f"{one.status:<12}", _STYLES[one.status])
        )
        aligned = widest + 17
        yield from wrapped(lead, why, width, " " * (aligned if width - aligned >= 40 else 6))


def _choices(log: NcclLog, width: int) -> Iterator[Line]:
    rows = [
        (
            choice.function or "(any)",
            size(choice.bytes),
            f"{choice.ranks} ranks" if choice.ranks is not None else "",
            visible(spelled(choice)),
            f"×{choice.count}",
        )
        for choice in sorted(log.choices, key=lambda one: (one.function, one.ranks or 0, one.bytes))
    ]
    if rows:
        table = Table(rows, width, right=(1, 2, 4))
        for row in rows:
            yield from table.lines(row)


def _compared(shown: Shown, width: int) -> Iterator[Line]:
    if not shown.compared:
        yield line("  the two logs share no message")
        return
    changed = [one for one in shown.compared if not one.same]
    for one in changed:
        here, there = visible(" / ".join(one.here)), visible(" / ".join(one.there))
        lead = line(f"  {visible(one.function or '(any)')} of {size(one.bytes)}:")
        yield from wrapped(lead, f"{here}; there {there}", width, "      ")
    same = len(shown.compared) - len(changed)
    if same:
        words = "all" if not changed else "the other"
        why = "" if changed else ": what differs between the two runs changes no choice of NCCL's"
        text = f"{_count(same, 'message', 'messages')} as there{why}"
        yield from wrapped(line(f"  {words}"), text, width, "      ")


def _texts(texts: Sequence[str], width: int) -> Iterator[Line]:
    for text in texts:
        yield from wrapped(line(" "), _cut(text), width, "    ")


def _warnings(log: NcclLog, width: int) -> Iterator[Line]:
    for one in log.warnings:
        times = f" (×{one.count})" if one.count > 1 else ""
        yield from wrapped(line(" "), f"{_cut(one.text)}{times}", width, "    ")


def _cut(text: str) -> str:
    text = visible(text)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _notes(log: NcclLog) -> list[str]:
    """What the log cannot show, or shows by halves."""
    notes = []
    if log.messages and "INFO" not in log.levels:
        notes.append(f"the log has no line of level INFO; start the server with {wanted()}")
    elif not log.choices and "TUNING" in log.subsystems:
        notes.append("no collective ran through NCCL: what reduces here is the engine's own, or nothing ran")
    elif not log.choices and log.messages:
        notes.append(f"the log does not show what NCCL chose; start the server with {wanted()}")
    if log.choices and all(choice.processes <= 1 for choice in log.choices):
        notes.append(
            "NCCL names a choice on rank 0, when the call is put in a queue: calls of a captured graph once, "
            "however often it is replayed"
        )
    if any(one.what == "calls" for one in log.disagreements):
        notes.append(
            "where some ranks called a collective more often than others, they wait for ever, or the log of "
            "the others ends earlier"
        )
    if log.cut:
        words = "line that was cut is" if log.cut == 1 else "lines that were cut are"
        notes.append(f"{log.cut} {words} left out")
    if log.dropped:
        notes.append(f"{log.dropped} more things were too many to keep, and are left out")
    return notes
