"""What launches of the benchmark brought, and its file: one line of JSON per launch, appended at once."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from eaglecfg.errors import UsageError
from eaglecfg.nccl.bench.plan import BenchPlan, Kind
from eaglecfg.nccl.bench.setting import Setting
from eaglecfg.nccl.bench.size import Size
from eaglecfg.record import record

FORMAT = 1


@record
class Launch:
    """One launch. ``failure`` is empty, or ``start``, ``exit``, ``error``, ``hang`` or ``wrong`` (a sum).

    ``samples``: message bytes -> µs of one all-reduce, one entry per timed replay, the slowest rank's.
    ``around``: bytes -> µs of the kernel before each call, already taken off. ``calls``: bytes -> calls per
    replay. ``facts``: versions and GPUs as the ranks saw them. ``checked``: comparisons of whole sums.
    ``log``: what rank 0 wrote, of checks only.
    """

    setting: str
    kind: Kind
    round: int
    seconds: float
    failure: str = ""
    message: str = ""
    lines: tuple[str, ...] = ()
    samples: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    around: Mapping[int, float] = field(default_factory=dict)
    calls: Mapping[int, int] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    checked: int = 0
    log: str = ""

    def median(self, size: int) -> float | None:
        """The launch's one number for a size, in µs."""
        values = self.samples.get(size)
        return statistics.median(values) if values else None

    def wander(self, size: int) -> float | None:
        """Half the distance between the quartiles of one launch's replays, as a share of their median."""
        values = self.samples.get(size, ())
        if len(values) < 4:
            return None
        low, middle, high = statistics.quantiles(values, n=4)
        return (high - low) / 2 / middle if middle > 0 else None


def launch_data(launch: Launch) -> dict[str, Any]:
    """The launch as plain data, bytes as text keys as JSON has them."""
    return {
        "event": "launch",
        "setting": launch.setting,
        "kind": launch.kind,
        "round": launch.round,
        "seconds": launch.seconds,
        "failure": launch.failure,
        "message": launch.message,
        "lines": list(launch.lines),
        "samples_us": {str(size): list(values) for size, values in launch.samples.items()},
        "around_us": {str(size): value for size, value in launch.around.items()},
        "calls": {str(size): value for size, value in launch.calls.items()},
        "facts": dict(launch.facts),
        "checked": launch.checked,
        "log": launch.log,
    }


def plan_data(plan: BenchPlan) -> dict[str, Any]:
    """The plan as plain data."""
    out = {name: getattr(plan, name) for name in plan.__slots__}  # type: ignore[attr-defined]
    out["settings"] = [{"name": each.name, "variables": dict(each.variables)} for each in plan.settings]
    out["sizes"] = [{"bytes": each.bytes, "what": each.what} for each in plan.sizes]
    out["inherited"] = dict(plan.inherited)
    return out


@record
class Recorded:
    """One run as its file has it. ``complete``: it went to its end."""

    plan: BenchPlan
    launches: tuple[Launch, ...]
    complete: bool


def read_recorded(path: Path) -> Recorded:
    """The last run in a file of raw results. Raises UsageError where it holds none."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{path}: expected lines of JSON, got bytes that are no text") from None
    plan: BenchPlan | None = None
    launches: list[Launch] = []
    complete = False
    cut = 0
    for number, row in enumerate(text.split("\n"), 1):
        if not row.strip():
            continue
        try:
            given = json.loads(row)
            event = given["event"]
            if event == "start":
                plan, launches, complete = _plan(given), [], False
                cut = 0  # an earlier run was killed while it wrote its last line
            elif event == "launch":
                launches.append(_launch(given))
            elif event == "end":
                complete = True
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            cut = cut or number
            if plan is None:
                break
        if cut and cut != number:
            raise _other_line(path, cut)
    if cut and cut != text.count("\n") + 1:
        raise _other_line(path, cut)
    if plan is None:
        raise UsageError(f"{path}: expected raw results of bench-allreduce --output, got no start of a run")
    return Recorded(plan, tuple(launches), complete)


def is_start(given: object) -> bool:
    """Whether a line of JSON begins a run of this benchmark."""
    return isinstance(given, dict) and given.get("event") == "start" and {"format", "plan"} <= given.keys()


def _other_line(path: Path, number: int) -> UsageError:
    return UsageError(f"{path}:{number}: expected a line that bench-allreduce --output wrote")


def _plan(given: Mapping[str, Any]) -> BenchPlan:
    if given["format"] != FORMAT:
        raise ValueError(given["format"])
    fields = dict(given["plan"])
    fields["settings"] = tuple(Setting(each["name"], dict(each["variables"])) for each in fields["settings"])
    fields["sizes"] = tuple(Size(int(each["bytes"]), str(each["what"])) for each in fields["sizes"])
    return BenchPlan(**fields)


def _launch(given: Mapping[str, Any]) -> Launch:
    return Launch(
        given["setting"],
        given["kind"],
        given["round"],
        given["seconds"],
        given["failure"],
        given["message"],
        tuple(given["lines"]),
        {int(size): tuple(map(float, values)) for size, values in given["samples_us"].items()},
        {int(size): float(value) for size, value in given["around_us"].items()},
        {int(size): int(value) for size, value in given["calls"].items()},
        dict(given["facts"]),
        given["checked"],
        given["log"],
    )


def timed(launches: Sequence[Launch], setting: str) -> list[Launch]:
    """Timed launches of a setting that ended well, by round."""
    found = [
        each for each in launches if each.setting == setting and each.kind == "time" and not each.failure
    ]
    return sorted(found, key=lambda each: each.round)
