"""The result of ``bench-allreduce`` as text, Markdown and JSON."""

from __future__ import annotations

import json
from typing import Any

from eaglecfg.nccl.bench.launches import plan_data
from eaglecfg.nccl.bench.setting import DEFAULT
from eaglecfg.nccl.bench.size import Size, size_words
from eaglecfg.nccl.bench.verdicts import Cell, Outcome
from eaglecfg.report.styled import Line, Part, Style, line, visible, wrapped
from eaglecfg.report.table import LEAST, Table

VERSION = 1
MATRIX_KEY = "Bold: real. =: NCCL chose what it chooses by default; only threads or transports can differ."
LONGEST_NAME = 40
WIDE = 2.0
"""The width of an interval, as a share, beyond which its ends mean nothing to anybody."""

HEAD = ("setting", "µs", "spread", "within", "vs default", "verdict", "NCCL chose")
_STYLE: dict[str, Style] = {"faster": "good", "slower": "warning", "failed": "error", "not shown": "dim"}
_PREPARED = {"nccl": "NCCL", "gloo": "gloo"}


def render(outcome: Outcome, width: int) -> list[Line]:
    """The whole result for a terminal or a pipe."""
    out = _paragraph(headline(outcome), width)
    rows = [[_row(cell, outcome) for cell in outcome.at(size)] for size in outcome.plan.sizes]
    table = Table([HEAD, *(row for block in rows for row in block)], width, right=(1, 2, 3))
    for size, block in zip(outcome.plan.sizes, rows, strict=True):
        out += [(), *_size_lines(size, width), *table.lines(HEAD, "dim")]
        for cell, row in zip(outcome.at(size), block, strict=True):
            out += table.lines(row, c5=_STYLE.get(cell.verdict, "plain"))
    out.append(())
    for text in _legend(outcome):
        out += _paragraph(text, width)
    for trouble in outcome.troubles:
        lead = line(Part(f"{visible(trouble.setting)} failed ({trouble.failure}):", "error"))
        out += wrapped(lead, visible(trouble.message), width, "  ")
        out += [
            line("    ", Part(visible(each)[: max(width, LEAST) - 4], "dim")) for each in trouble.lines[-3:]
        ]
    for sentence in sentences(outcome):
        out += _paragraph(sentence, width)
    return out


def _paragraph(text: str, width: int) -> list[Line]:
    first, _, rest = visible(text).partition(" ")
    return wrapped(line(first), rest, width, "  ")


def headline(outcome: Outcome) -> str:
    """What was measured with what, in one sentence."""
    plan, facts = outcome.plan, outcome.facts
    gpus = facts.get("gpus") or []
    names = list(dict.fromkeys(each["name"] for each in gpus))
    what = f"{len(gpus)} x {' and '.join(names)}" if gpus else "on the CPU" if plan.backend == "gloo" else ""
    made = _PREPARED[plan.backend] + (f" {facts['nccl']}" if facts.get("nccl") else "")
    graph = f"CUDA graphs of {plan.calls} calls" if plan.graph else f"eager calls, {plan.calls} in a row"
    torch = f", torch {facts['torch']}" if facts.get("torch") else ""
    driver = f", driver {facts['driver']}" if facts.get("driver") else ""
    counted = f"{plan.processes} {'launch' if plan.processes == 1 else 'launches'} of each setting"
    ranks = f"All-reduce of {plan.dtype} over {plan.ranks} ranks"
    return f"{ranks}: {what and what + ', '}{made}{torch}{driver}; {graph}, {counted}."


def sentences(outcome: Outcome) -> list[str]:
    """What the numbers mean, one sentence each."""
    out: list[str] = []
    if outcome.comparisons:
        out += _real(outcome)
    out += outcome.notes
    out += [f"{name}: {why}; no difference is its doing." for name, why in outcome.inert.items()]
    if not outcome.complete:
        out.append(f"The run did not go to its end: {outcome.launches} launches are in this table.")
    if outcome.checked:
        bad = any(each.failure == "wrong" for each in outcome.troubles)
        good = "sums were compared with what they must be on every rank"
        out.append(f"{outcome.checked} {good}" + ("." if bad else ", all right."))
    if outcome.plan.inherited:
        names = " ".join(f"{name}={text}" for name, text in sorted(outcome.plan.inherited.items()))
        out.append(
            f"Every setting, the default too, ran with this from the environment and nccl.conf: {names}."
        )
    if outcome.plan.backend == "gloo":
        out.append("gloo on the CPU proves that the ranks work; it says nothing about NCCL.")
    return out


def _real(outcome: Outcome) -> list[str]:
    """The real differences by size, and what their intervals rest on."""
    out = []
    for size in outcome.plan.sizes:
        found = sorted(
            (each for each in outcome.at(size) if each.verdict in ("faster", "slower")),
            key=lambda each: each.change or 0.0,
        )
        words = [f"{each.setting} {percent(each.change)}" for each in found]
        out.append(f"{size_words(size.bytes)}: real against the default: {', '.join(words) or 'nothing'}.")
    out.append(
        f"Real means that the interval leaves out 0. All {outcome.comparisons} intervals hold together with "
        f"95 %, over {outcome.rounds} fresh launches of each setting. spread: range of the launches' "
        f"medians, within: half the quartile distance in a launch."
    )
    return out


def percent(change: float | None) -> str:
    """A share as a signed change of time."""
    return "" if change is None else f"{_hundredths(change)} %"


def _hundredths(share: float) -> str:
    """A share times a hundred with its sign, and no sign on a zero that only rounding made."""
    return f"{round(share * 100, 1) + 0.0:+.1f}"


def _row(cell: Cell, outcome: Outcome) -> tuple[str, ...]:
    against = percent(cell.change)
    if cell.low is not None and cell.high is not None:
        against += f" ({interval(cell.low, cell.high)})"
    return (
        _name(cell.setting),
        "-" if cell.us is None else f"{cell.us:.2f}" if cell.us < 1000 else f"{cell.us:.0f}",
        "-" if cell.spread is None else f"{cell.spread * 100:.1f} %",
        "-" if cell.wander is None else f"{cell.wander * 100:.1f} %",
        against or ("-" if cell.setting != DEFAULT else ""),
        "" if cell.verdict == "baseline" else cell.verdict,
        str(cell.choice) if cell.choice is not None else "-",
    )


def interval(low: float, high: float) -> str:
    """Two changes; in words where they are too far apart to mean anything."""
    return "not resolved" if high - low > WIDE else f"{_hundredths(low)} to {_hundredths(high)} %"


def _name(setting: str) -> str:
    """The name as a column holds it."""
    text = visible(setting)
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 9]}…{text[-8:]}"


def _legend(outcome: Outcome) -> list[str]:
    """What stands behind names that do not say it themselves."""
    settings = [each for each in outcome.plan.settings if each.variables]
    return [f"{_name(each.name)}: {each.spelled}" for each in settings if _name(each.name) != each.spelled]


def _size_lines(size: Size, width: int) -> list[Line]:
    lead = line(Part(size_words(size.bytes), "bold"))
    return wrapped(lead, f"({visible(size.what)})", width, "  ", "bold") if size.what else [lead]


def _size_head(size: Size) -> str:
    return size_words(size.bytes) + (f" ({size.what})" if size.what else "")


def markdown(outcome: Outcome) -> str:
    """The result as Markdown, one table per size."""
    out = [headline(outcome), "", *matrix(outcome), "", MATRIX_KEY, ""]
    for size in outcome.plan.sizes:
        out += [f"### {_size_head(size)}", "", f"| {' | '.join(HEAD)} |", "|---|---:|---:|---:|---|---|---|"]
        out += [f"| {' | '.join(map(_escaped, _row(cell, outcome)))} |" for cell in outcome.at(size)]
        out.append("")
    legend = [f"- {_escaped(text)}" for text in _legend(outcome)]
    out += [*legend, ""] if legend else []
    for trouble in outcome.troubles:
        out += [f"- {_escaped(trouble.setting)} failed ({trouble.failure}): {_escaped(trouble.message)}"]
        out += [f"  - `{_escaped(each)}`" for each in trouble.lines[-3:]]
    out += [f"- {_escaped(sentence)}" for sentence in sentences(outcome)]
    return "\n".join(out) + "\n"


def matrix(outcome: Outcome) -> list[str]:
    """All settings and sizes in one Markdown table."""
    sizes = outcome.plan.sizes
    out = [
        f"| setting | {' | '.join(size_words(size.bytes) for size in sizes)} |",
        "|---|" + "---:|" * len(sizes),
    ]
    rows = [outcome.at(size) for size in sizes]
    for index, setting in enumerate(outcome.plan.settings):
        squares = [_square(row[index], row[0]) for row in rows]
        out.append(f"| {_escaped(_name(setting.name))} | {' | '.join(squares)} |")
    return out


def _square(cell: Cell, base: Cell) -> str:
    if cell.verdict == "baseline" and cell.us is not None:
        chosen = f"<br>{cell.choice}" if cell.choice is not None else ""
        return f"{cell.us:.2f} µs{chosen}"
    if cell.us is None or cell.change is None:
        return cell.verdict
    text = percent(cell.change)
    text = f"**{text}**" if cell.verdict in ("faster", "slower") else text
    return f"{text} =" if cell.choice is not None and cell.choice == base.choice else text


def _escaped(text: str) -> str:
    return visible(text).replace("|", "\\|")


def as_json(outcome: Outcome, exit_code: int, *, version: str) -> str:
    """The result as JSON text; schemas/bench-allreduce.schema.json describes it."""
    text = json.dumps(as_data(outcome, exit_code, version=version), indent=2, ensure_ascii=False) + "\n"
    # Names and variables may hold bytes that are no text; an escape is what JSON has for those.
    return text.encode("utf-8", "backslashreplace").decode()


def as_data(outcome: Outcome, exit_code: int, *, version: str) -> dict[str, Any]:
    """The result as plain data, times in µs, changes as shares of the default's time."""
    return {
        "version": VERSION,
        "tool": {"name": "eaglecfg", "version": version},
        "plan": plan_data(outcome.plan),
        "facts": dict(outcome.facts),
        "summary": {
            "complete": outcome.complete,
            "launches": outcome.launches,
            "failed_settings": len(outcome.troubles),
            "compared_sums": outcome.checked,
            "comparisons": outcome.comparisons,
            "rounds": outcome.rounds,
            "exit_code": exit_code,
        },
        "results": [_cell_data(cell) for cell in outcome.cells],
        "failures": [
            {
                "setting": each.setting,
                "failure": each.failure,
                "message": each.message,
                "lines": list(each.lines),
            }
            for each in outcome.troubles
        ],
        "inert": dict(outcome.inert),
        "notes": list(outcome.notes),
    }


def _cell_data(cell: Cell) -> dict[str, Any]:
    choice = cell.choice
    return {
        "setting": cell.setting,
        "bytes": cell.size,
        "verdict": cell.verdict,
        "us": cell.us,
        "spread": cell.spread,
        "wander": cell.wander,
        "launches": cell.launches,
        "change": cell.change,
        "low": cell.low,
        "high": cell.high,
        "choice": None
        if choice is None
        else {"algorithm": choice.algorithm, "protocol": choice.protocol, "channels": choice.channels},
    }
