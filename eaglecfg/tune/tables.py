"""The result of a study as a table, as Markdown and as JSON, and the files that hold it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from eaglecfg.tune.conclusion import interval, percent
from eaglecfg.tune.results import Gain, Results, Row

RESULT_JSON = "result.json"
RESULT_MARKDOWN = "result.md"
PATCH = "winner.patch"


def header(results: Results) -> list[str]:
    """Column names; one speed column for each concurrency."""
    levels = _levels(results)
    speeds = [f"tok/s at {level}" for level in levels] or ["tok/s"]
    return ["setting", *speeds, "vs as it stands", "vs off", "accept", "ms/step", "spread", "launches", ""]


def table(results: Results) -> list[list[str]]:
    """One row of text per setting, best first, those of the search after those of the rounds."""
    return [_cells(row, _levels(results)) for row in results.rows]


def _levels(results: Results) -> list[int]:
    return sorted({level for row in results.rows for level in row.tokens_per_s})


def _cells(row: Row, levels: Sequence[int]) -> list[str]:
    marks = [row.role] if row.role and row.role != row.label else []
    marks += ["winner"] if row.winner else []
    marks += ["fastest"] if row.fastest else ["tied with the fastest"] if row.tied else []
    marks += [] if row.final or not row.launches else ["search only"]
    steps = [f"{row.step_ms[level]:.2f}" for level in levels if level in row.step_ms]
    return [
        row.label,
        *([_speed(row, level) for level in levels] or ["-"]),
        _gain(row.against_as_is),
        _gain(row.against_off),
        f"{row.accept_length:.2f}" if row.accept_length is not None else "-",
        " / ".join(steps) or "-",
        f"{row.spread * 100:.1f} %" if row.spread is not None else "-",
        str(row.launches) + (f" (+{row.failed} failed)" if row.failed else ""),
        "; ".join([*marks, *row.notes]),
    ]


def _speed(row: Row, level: int) -> str:
    value = row.tokens_per_s.get(level)
    return "-" if value is None else f"{value:.0f}" if value >= 1000 else f"{value:.1f}"


def _gain(gain: Gain | None) -> str:
    if gain is None:
        return "-"
    if gain.low is None or gain.high is None:
        return percent(gain.ratio)
    return f"{percent(gain.ratio)} ({interval(gain.low, gain.high)})"


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Aligned columns, numbers to the right."""
    widths = [max(len(line[index]) for line in (head, *rows)) for index in range(len(head))]
    lines = []
    for line in (head, *rows):
        cells = [
            cell.ljust(width) if index in (0, len(head) - 1) else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def markdown(title: str, results: Results) -> str:
    """The result as a Markdown document."""
    head = [name or "notes" for name in header(results)]
    lines = [f"# {title}", ""]
    lines += [f"{sentence}" for sentence in results.verdict]
    lines += ["", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in table(results)]
    lines += ["", *footnotes(results), ""]
    return "\n".join(lines)


def footnotes(results: Results) -> list[str]:
    """What the numbers are, in a few sentences."""
    notes = [
        "Speeds are output tokens per second, geometric means over launches; accept is tokens per verify "
        "step, ms/step the time of one verify step (one decode step when off), both pooled over all requests."
    ]
    if results.analysis is not None:
        notes.append(
            f"Intervals: 95 %, {results.analysis.method}, {results.analysis.rounds} launches a setting, "
            f"wide enough for all settings together. One launch differs by {results.spread * 100:.1f} %; "
            f"a gain of {results.resolves * 100:.1f} % would be found 4 times in 5."
        )
    return notes


def as_json(name: str, conditions: str, results: Results) -> dict[str, Any]:
    """The result as plain data; format version 1."""
    winner = results.winner
    return {
        "version": 1,
        "study": name,
        "conditions": conditions,
        "finished": results.finished,
        "verdict": list(results.verdict),
        "winner": None
        if winner is None
        else {"arm": winner.key, "label": winner.label, "values": dict(winner.values)},
        "spread": {"launch": results.spread, "seen": results.seen},
        "resolves": results.resolves if results.resolves != float("inf") else None,
        "launches": results.launches,
        "settings": [asdict(row) for row in results.rows],
        "analysis": asdict(results.analysis) if results.analysis is not None else None,
        "failures": [
            {
                "n": item.n,
                "arm": item.arm,
                "class": item.failure,
                "message": item.message,
                "lines": item.lines,
            }
            for item in results.failures
        ],
    }


def write_results(folder: Path, name: str, conditions: str, results: Results) -> None:
    """Write result.json and result.md, each whole or not at all."""
    data = json.dumps(as_json(name, conditions, results), indent=1, allow_nan=False)
    replace_text(folder / RESULT_JSON, data + "\n")
    replace_text(folder / RESULT_MARKDOWN, markdown(f"Study {name}", results))


def replace_text(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old one or the new one."""
    beside = path.with_name(f".{path.name}.new")
    with beside.open("w", encoding="utf-8", newline="") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    beside.replace(path)
