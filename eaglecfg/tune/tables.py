"""The result of a study as a table, as Markdown and as JSON, and the files that hold it."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from eaglecfg.tune.account import HEADER, account_line, cold_words, launches
from eaglecfg.tune.conclusion import interval, percent, slower_words, spread_words
from eaglecfg.tune.cycle import cycle_lines
from eaglecfg.tune.drift import MOST_DRIFTS
from eaglecfg.tune.gains import Gain
from eaglecfg.tune.history import MACHINE_FAILURES
from eaglecfg.tune.results import Results
from eaglecfg.tune.rewrites import rewrite_words, shared_words
from eaglecfg.tune.rows import Row

RESULT_JSON = "result.json"
RESULT_MARKDOWN = "result.md"
PATCH = "winner.patch"

LONGEST_LINE = 160
"""How much of a log line is shown beside a failure; the whole stands in result.json."""

NOTED_WANDER = 0.1
"""How far passes within a launch may differ before the result says so, as a share."""


WIDTH = 110
"""Columns of the table on a terminal."""

LEAST_NAME = 18
"""Columns that names of settings should have, at the cost of headings and intervals on one line."""

GAP = "  "
"""What stands between columns; one blank where names would get less than NARROWEST_NAME."""

NARROWEST_NAME = 12
"""Columns that they get on the narrowest terminal."""


def header(results: Results) -> list[str]:
    """Column names; the concurrency stands here where there is only one."""
    levels = _levels(results)
    speed = f"tok/s at {levels[0]}" if len(levels) == 1 else "tok/s"
    against = ["vs as it stands"] if results.stands else []
    against += ["vs off"] if _has_off(results) else []
    return ["setting", speed, *against, "accept", "ms/step", "spread", "launches"]


def table(results: Results) -> list[list[str]]:
    """One row per setting, best first, those of the search after those of the rounds. A cell may have lines:
    marks below the name, the interval below the gain, speed and step time by concurrency."""
    levels, off = _levels(results), _has_off(results)
    stands = results.stands
    return [_cells(row, levels, results.step_cost, off=off, stands=stands) for row in results.rows]


def _has_off(results: Results) -> bool:
    """Whether speculation off is part of the study, so that anything is counted against it."""
    return any("off" in row.role.split(", ") or row.against_off is not None for row in results.rows)


def _levels(results: Results) -> list[int]:
    return sorted({level for row in results.rows for level in row.tokens_per_s})


def _cells(row: Row, levels: Sequence[int], step_cost: float | None, *, off: bool, stands: bool) -> list[str]:
    marks = [row.role] if row.role and row.role != row.label else []
    marks += ["winner"] if row.winner else []
    marks += ["fastest"] if row.fastest else ["tied"] if row.tied else []
    if row.left_out:
        marks.append("taken out of the space")
    elif row.searched and not row.final:
        marks.append("search only")
    steps = [f"{row.step_ms[level]:.2f}" for level in levels if level in row.step_ms]
    return [
        row.label + (f"\n({', '.join(marks)})" if marks else ""),
        "\n".join(_speed(row, level, named=len(levels) > 1) for level in levels) or "-",
        *([_gain(row.against_as_is)] if stands else []),
        *([_gain(row.against_off)] if off else []),
        _accepts(row, step_cost),
        "\n".join(steps) or "-",
        f"{row.spread * 100:.1f} %" if row.spread is not None else "-",
        str(row.launches) + (f"\n({row.failed} failed)" if row.failed else ""),
    ]


def _accepts(row: Row, step_cost: float | None) -> str:
    if row.accept_length is None:
        return "-"
    return f"{row.accept_length:.2f}" if step_cost is None else f"simulated\n{row.accept_length:.2f}"


def _speed(row: Row, level: int, *, named: bool) -> str:
    value = row.tokens_per_s.get(level)
    text = "-" if value is None else _number(value)
    return f"{text} at {level}" if named else text


def _gain(gain: Gain | None) -> str:
    if gain is None:
        return "-"
    if gain.low is None or gain.high is None:
        return percent(gain.ratio)
    return f"{percent(gain.ratio)}\n({interval(gain.low, gain.high)})"


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]], width: int = WIDTH) -> list[str]:
    """Aligned columns, numbers to the right, within ``width`` columns: where that is too narrow, headings and
    intervals are folded, then names."""
    table = [list(head), *map(list, rows)]
    if _name_room(table, width) < _least_name(table):
        table = [[row[0], *(_folded(cell) for cell in row[1:])] for row in table]
    gap = GAP if _name_room(table, width) >= NARROWEST_NAME else " "
    widths = _widths(table)
    widths[0] = min(widths[0], max(_name_room(table, width, len(gap)), NARROWEST_NAME))
    lines = []
    for row in table:
        cells = [[part for line in row[0].split("\n") for part in _fold_name(line, widths[0])]]
        cells += [cell.split("\n") for cell in row[1:]]
        for index in range(max(map(len, cells))):
            texts = [cell[index] if index < len(cell) else "" for cell in cells]
            first, *rest = zip(texts, widths, strict=True)
            line = [first[0].ljust(first[1]), *(text.rjust(space) for text, space in rest)]
            lines.append(gap.join(line).rstrip())
    return lines


def _widths(table: Sequence[Sequence[str]]) -> list[int]:
    columns = zip(*table, strict=True)
    return [max(len(line) for cell in column for line in cell.split("\n")) for column in columns]


def _name_room(table: Sequence[Sequence[str]], width: int, gap: int = len(GAP)) -> int:
    """Columns that are left for names."""
    return width - sum(space + gap for space in _widths(table)[1:])


def _least_name(table: Sequence[Sequence[str]]) -> int:
    """Columns in which no word of a name is broken."""
    words = [word for row in table for word in row[0].split()]
    return min(max(LEAST_NAME, *map(len, words)), _widths(table)[0])


def _folded(cell: str) -> str:
    """A heading or an interval on several lines."""
    if "(" in cell:
        return cell.replace(" to ", " to\n").replace("(not ", "(not\n")
    many = cell.count(" ") and not cell[:1].isdigit() and "%" not in cell
    return "\n".join(textwrap.wrap(cell, max(8, *map(len, cell.split())))) if many else cell


def _fold_name(line: str, width: int) -> list[str]:
    """A name within so many columns, long words broken after an underscore where they have one."""
    words = []
    for word in line.split(" "):
        while len(word) > width:
            at = word.rfind("_", 0, width) + 1 or width
            words.append(word[:at])
            word = word[at:]
        words.append(word)
    return textwrap.wrap(" ".join(words), width, break_on_hyphens=False) or [""]


def remarks(results: Results) -> list[str]:
    """What has to be said of single settings, one sentence each; failures with the line that decided them."""
    out = []
    for row in results.rows:
        for note in row.notes:
            lines = next(
                (item.lines for item in results.failures if item.arm == row.arm and item.message in note), ()
            )
            why = f" [{lines[-1][:LONGEST_LINE]}]" if lines else ""
            out.append(f"{row.label}: {note}{why}")
    if any(item.failure not in MACHINE_FAILURES for item in results.failures):
        out.append(
            "A setting that failed is not launched again, except with --retry-failed or under another launch."
        )
    return out


def markdown(title: str, results: Results) -> str:
    """The result as a Markdown document."""
    lines = [f"# {title}", ""]
    lines += [f"{sentence}" for sentence in results.verdict]
    head = header(results)
    lines += ["", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in table(results):
        cells = [cell.replace("\n", "<br>").replace("|", "\\|") for cell in row]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", *(f"- {text}" for text in (*cycle_lines(results.cycles), *remarks(results)))]
    lines += ["", *footnotes(results), ""]
    lines += _requests(results)
    if results.each:
        accept = "accept" if results.step_cost is None else "accept (simulated)"
        each = [accept if name == "accept" else name for name in HEADER]
        lines += ["| " + " | ".join(each) + " |", "|" + "---|" * len(HEADER)]
        lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in results.each]
        lines.append("")
    return "\n".join(lines)


REQUESTS = ("setting", "at", "TTFT p50", "p99", "TPOT p50", "p99", "ITL p50", "p99", "accepted by position")


def _requests(results: Results) -> list[str]:
    """What single requests met, in ms, and how far drafts were accepted; nothing where no record tells."""
    rows = []
    for row in results.rows:
        for level, values in row.latency_ms.items():
            names = [f"{what}_{name}" for what in ("ttft", "tpot", "itl") for name in ("p50", "p99")]
            times = [f"{values[name]:.2f}" if values.get(name) else "-" for name in names]
            shares = " ".join(f"{share:.2f}" for share in row.per_position.get(level, ()))
            rows.append([row.label, str(level), *times, shares or "-"])
    if not rows:
        return []
    simulated = " (simulated)" if results.step_cost is not None else ""
    head = ["| " + " | ".join(REQUESTS) + f"{simulated} |", "|" + "---|" * len(REQUESTS)]
    body = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return [*head, *body, "", "Times in ms, means over launches.", ""]


def footnotes(results: Results) -> list[str]:
    """What the numbers are, in a few sentences."""
    notes = [
        "Speeds are output tokens per second, geometric means over launches; accept is tokens per verify "
        "step, ms/step the time of one verify step (one decode step when off), both pooled over all requests."
    ]
    if results.account is not None and results.account.launches:
        notes += [account_line(results.account), *cold_words(results.account)]
    if results.analysis is not None:
        notes.append(
            f"Intervals: 95 %, {results.analysis.method}, {results.analysis.rounds} launches a setting, "
            f"wide enough for all settings together. "
            f"{spread_words(results.spread, results.resolves, results.analysis.rounds)}"
        )
    notes += _open_round_words(results)
    if results.moves:
        moves = ", ".join(map(percent, results.moves))
        cut = "; the search was cut short for it" if len(results.moves) >= MOST_DRIFTS else ""
        notes.append(
            f"The machine's own speed moved during the search ({moves}): what was measured meanwhile was set "
            f"aside ({launches(results.set_aside)}){cut}. No budget of launches pays for these, nor for the "
            f"{results.looked_again} of the baseline that looked whether it had moved."
        )
    notes += [*_search_words(results), *shared_words(results.shared)]
    for reason, (count, most) in results.held_back.items():
        notes.append(
            f"In {count} of {sum(row.launches for row in results.rows)} launches a GPU was held back "
            f"({reason}, in up to {most:.0%} of a launch's samples): what is slow there may be the machine; "
            f"see gpu.jsonl of the launches, and eaglecfg doctor."
        )
    if results.unsettled:
        good = sum(row.launches for row in results.rows)
        notes.append(
            f"In {results.unsettled} of {good} launches the warm-up never settled: no two windows agreed."
        )
    if results.wander is not None and results.wander > NOTED_WANDER:
        notes.append(
            f"Within one launch, passes over the same prompts differed by {results.wander * 100:.0f} % "
            f"(median of launches): the machine's own speed wanders, by more than settings may differ."
        )
    return [*notes, *results.answers]


def _open_round_words(results: Results) -> list[str]:
    """Rounds whose launches are not compared, as they are not complete."""
    why = f" ({results.finished})" if results.finished else " so far"
    return [
        f"Round {number + 1} is not complete: what was launched in it ({launches(count)}) is not "
        f"compared{why}."
        for number, count in results.open_rounds.items()
    ]


def _search_words(results: Results) -> list[str]:
    """That speeds of the search are no speeds of the rounds: other prompts, other hours."""
    only = any(row.searched and not row.final for row in results.rows)
    if not only or not results.search_speeds or not (results.rounds or results.moves):
        return []
    many = len({level for speeds in results.search_speeds for level in speeds}) > 1
    told = [
        " and ".join(f"{_number(value)}{f' at {level}' if many else ''}" for level, value in speeds.items())
        for speeds in results.search_speeds
        if speeds
    ]
    first, *later = told
    moved = "".join(f", then {speed}" for speed in later)
    moved = f"{moved} as the machine's speed moved" if later else ""
    return [
        f"Speeds of what is marked (search only) are of the search, which has prompts and hours of its own "
        f"(workload.holdout): there {results.baseline} came to {first} tok/s{moved}. Their percentages "
        f"compare each with it in its own stretch of the search, not with the speeds of the rounds."
    ]


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 else f"{value:.1f}"


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
        else {
            "arm": winner.key,
            "label": winner.label,
            "values": dict(winner.values),
            "slower_at": dict(gain.slower_at) if (gain := _winning(results)) is not None else {},
        },
        "not_launched": None if results.unlaunched is None else asdict(results.unlaunched),
        "open_rounds": {str(number + 1): count for number, count in results.open_rounds.items()},
        "set_aside": results.set_aside,
        "rewritten": list(map(rewrite_words, results.shared)),
        "search_speeds": [dict(speeds) for speeds in results.search_speeds],
        "spread": {"launch": results.spread, "seen": results.seen},
        "resolves": results.resolves if results.resolves != float("inf") else None,
        "wander": results.wander,
        "unsettled": results.unsettled,
        "launches": results.launches,
        "step_cost": None if results.step_cost is None else {"accept_length": results.step_cost},
        "settings": [asdict(row) for row in results.rows],
        "analysis": asdict(results.analysis) if results.analysis is not None else None,
        "cycles": [asdict(cycle) for cycle in results.cycles],
        "proofs": [dict(proof) for proof in results.proofs],
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


def _winning(results: Results) -> Gain | None:
    row = next((row for row in results.rows if row.winner), None)
    return (row.against_as_is or row.against_off) if row is not None else None


def slower_winner(results: Results) -> str:
    """Where the winner is slower than the baseline, in words; empty where it is not, or where there is
    none."""
    gain = _winning(results)
    return slower_words(gain) if gain is not None else ""


def headline(name: str, results: Results) -> str:
    """The title of a result."""
    return f"Study {name}" if results.step_cost is None else f"Study {name}: step cost only"


def write_results(folder: Path, name: str, conditions: str, results: Results) -> None:
    """Write result.json and result.md, each whole or not at all."""
    data = json.dumps(as_json(name, conditions, results), indent=1, allow_nan=False)
    replace_text(folder / RESULT_JSON, data + "\n")
    replace_text(folder / RESULT_MARKDOWN, markdown(headline(name, results), results))


def replace_text(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old one or the new one."""
    beside = path.with_name(f".{path.name}.new")
    with beside.open("w", encoding="utf-8", newline="") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    beside.replace(path)
