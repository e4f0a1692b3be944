"""The result of a benchmark, as tables and JSON show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from eaglecfg.nccl.bench.choice import Choice
from eaglecfg.nccl.bench.plan import BenchPlan
from eaglecfg.nccl.bench.setting import Setting
from eaglecfg.nccl.bench.size import Size
from eaglecfg.record import record

Verdict = Literal["baseline", "faster", "slower", "not shown", "not judged", "failed", "not measured"]
"""``faster`` and ``slower`` are real: the whole interval lies on one side. ``not judged``: there is none."""


@record
class Cell:
    """One setting at one size.

    ``us`` is the median over launches of each launch's median, ``spread`` the range of those medians and
    ``wander`` the usual half quartile distance within a launch, both as shares. ``change`` is the time
    against the default's (-0.06: 6 % less), ``low`` and ``high`` its interval.
    """

    setting: str
    size: int
    verdict: Verdict
    us: float | None = None
    spread: float | None = None
    wander: float | None = None
    launches: int = 0
    change: float | None = None
    low: float | None = None
    high: float | None = None
    choice: Choice | None = None


@record
class Trouble:
    """A setting that failed, in its first failed launch."""

    setting: str
    failure: str
    message: str
    lines: tuple[str, ...]


@record
class Outcome:
    """A whole run, judged. ``comparisons``: how many intervals hold together; ``rounds``: launches that every
    interval rests on, of each setting. ``notes``: sentences on what could not be judged."""

    plan: BenchPlan
    cells: tuple[Cell, ...]
    troubles: tuple[Trouble, ...]
    facts: Mapping[str, Any]
    launches: int
    checked: int
    complete: bool
    comparisons: int = 0
    rounds: int = 0
    notes: tuple[str, ...] = ()
    inert: Mapping[str, str] = field(default_factory=dict)

    def at(self, size: Size) -> list[Cell]:
        """The cells of one size, in the order of the settings."""
        return [cell for cell in self.cells if cell.size == size.bytes]

    def setting(self, name: str) -> Setting:
        return next(each for each in self.plan.settings if each.name == name)

    @property
    def measured(self) -> bool:
        return any(cell.us is not None for cell in self.cells)
