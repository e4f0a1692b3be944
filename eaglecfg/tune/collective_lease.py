"""The GPUs of an all-reduce benchmark: leased as a study's are, and empty before the first launch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from eaglecfg.errors import UsageError
from eaglecfg.nccl.bench.plan import BenchPlan
from eaglecfg.tune.gpu import Gpu, find_gpus, wait_until_empty
from eaglecfg.tune.leases import LEASES, VARIABLE, Leases, NotHeld
from eaglecfg.tune.placement import VISIBLE

NAME, KIND = "bench-allreduce", "benchmark"

EMPTY_S = 300.0
"""How long a GPU that somebody else uses is waited for, as before a launch of a study."""


@contextmanager
def leased(plan: BenchPlan, environ: Mapping[str, str], tell: Callable[[str], None]) -> Iterator[None]:
    """Hold the GPUs of ``plan`` while the body runs; without NVML, or over gloo, there are none to hold.

    ``tell`` hears what is waited for. Raises UsageError where another user of the machine has leased one of
    them, or computes on it and does not end.
    """
    gpus = gpus_of(plan, environ)
    with Leases(NAME, Path(environ.get(VARIABLE) or LEASES), KIND) as leases:
        try:
            leases.take(gpus)
        except NotHeld as error:
            tell(f"note: GPUs cannot be leased on this machine: {error}")
        told: list[str] = []

        def waits(words: Sequence[str]) -> None:
            text = f"waiting, as {'; '.join(words)}"
            if text not in told[-1:]:
                told.append(text)
                tell(text)

        if left := wait_until_empty(gpus, 0.0, EMPTY_S, waits):
            raise UsageError(
                f"{'; '.join(left)}: times on a GPU that others use say nothing; end that, or choose other "
                f"GPUs with {VISIBLE}"
            )
        yield


def gpus_of(plan: BenchPlan, environ: Mapping[str, str]) -> tuple[Gpu, ...]:
    """The GPUs that the ranks of ``plan`` take: rank 0 the first that is visible, and so on."""
    return tuple(find_gpus(environ.get(VISIBLE))[: plan.ranks]) if plan.backend == "nccl" else ()
