"""What one run of the benchmark launches, in which order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Literal

from eaglecfg.nccl.bench.setting import Setting
from eaglecfg.nccl.bench.size import Size
from eaglecfg.record import record

Kind = Literal["check", "time"]
"""``check``: sums and the choices that NCCL logs, untimed. ``time``: the measurement, without a log."""


@record
class BenchPlan:
    """One run. ``processes``: timed launches of each setting. In a launch, each of ``passes`` goes over all
    sizes with ``replays`` timed replays of ``calls`` calls (fewer where ``size_s`` seconds do not suffice).

    ``limit_s``: seconds without any step after which a launch hangs; ``import_s``: seconds to import torch.
    ``inherited``: variables of NCCL and its neighbours that the environment has already.
    """

    settings: tuple[Setting, ...]
    sizes: tuple[Size, ...]
    dtype: str
    backend: Literal["nccl", "gloo"]
    graph: bool
    ranks: int
    processes: int
    python: str
    inherited: Mapping[str, str] = field(default_factory=dict)
    calls: int = 50
    replays: int = 20
    passes: int = 3
    warm_s: float = 0.3
    size_s: float = 0.5
    check_rounds: int = 4
    limit_s: float = 15.0
    import_s: float = 180.0

    def order(self, kind: Kind) -> Mapping[str, Any]:
        """What every rank of a launch is told."""
        return {
            "kind": kind,
            "backend": self.backend,
            "graph": self.graph,
            "sizes": [size.bytes for size in self.sizes],
            "dtype": self.dtype,
            "calls": self.calls,
            "replays": self.replays,
            "passes": self.passes,
            "warm_s": self.warm_s,
            "size_s": self.size_s,
            "check_rounds": self.check_rounds,
        }


@record
class Job:
    """One launch that is wanted. Checks are round -1."""

    setting: Setting
    kind: Kind
    round: int


def jobs(plan: BenchPlan) -> Iterator[Job]:
    """First every setting's check, then the rounds; every second round backwards, so that drift cancels."""
    for setting in plan.settings:
        yield Job(setting, "check", -1)
    for number in range(plan.processes):
        for setting in plan.settings if number % 2 == 0 else plan.settings[::-1]:
            yield Job(setting, "time", number)
