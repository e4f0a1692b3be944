"""Who carries the all-reduces of one deployment: phase by phase, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.engines.resolve import Resolution
from eaglecfg.errors import ValueFromLaunch
from eaglecfg.nccl.engine_writes import Launch
from eaglecfg.nccl.paths import Machine, Message, Taken, all_reduce_path, fusion_runs, row_of
from eaglecfg.nccl.traffic import Phase, batches, phases, prefill, whole


@dataclass(frozen=True, slots=True)
class Step:
    """One size of one phase. ``layers``: who takes the all-reduces with a layer's norm behind them;
    ``others``: who takes the rest (the embedding's and the last)."""

    phase: Phase
    batch: int
    size: int
    layers: Taken
    others: Taken


@dataclass(frozen=True, slots=True)
class DecodePath:
    """``ranks`` share one tensor. ``steps`` of decode and verify, empty where the files do not tell the
    sizes; ``contrast`` is one chunk of prefill. ``small``: who takes a message of a few kilobytes, whatever
    the sizes are. ``gathers``: with data-parallel attention the ranks gather and scatter, and ``steps`` say
    nothing about them."""

    ranks: int
    steps: tuple[Step, ...]
    contrast: Step | None
    small: Taken
    gathers: bool = False

    @property
    def takers(self) -> tuple[Taken, ...]:
        """Everything that carries some part of decode, each carrier once, the target's layers first."""
        found = [taken for step in self.by_weight for taken in (step.layers, step.others)] or [self.small]
        return tuple({taken.carrier: taken for taken in reversed(found)}.values())[::-1]

    @property
    def by_weight(self) -> Sequence[Step]:
        """The steps, those of the target first."""
        return sorted(self.steps, key=lambda step: not step.phase.target)

    @property
    def nccl(self) -> bool:
        """Whether NCCL's settings may act on decode or verify."""
        return any(taken.nccl for taken in self.takers)

    @property
    def carried(self) -> bool:
        """Whether NCCL is certain to carry some all-reduce of decode or verify."""
        return any(taken.carrier in ("nccl", "nccl_symmetric") for taken in self.takers)

    @property
    def open(self) -> Taken | None:
        """What is not known of decode and verify, or known at start only; None where all is settled."""
        return next((taken for taken in self.takers if taken.carrier == "not_known" or not taken.sure), None)


def hands_over(version: str, target: ModelConfig | None) -> bool:
    """Whether the target's class hands all-reduces to the norm behind them; yes where it was not read."""
    name = target.architecture if target is not None else None
    return name not in row_of("fusion", version).get("never", ())


def decode_path(
    launch: Launch,
    machine: Machine,
    resolution: Resolution,
    target: ModelConfig | None,
    draft: ModelConfig | None,
    *,
    automatic: bool,
) -> DecodePath:
    """The path of a deployment. ``automatic``: this engine version fuses all-reduces by itself for the
    target's class. Pure."""
    ranks, nodes = whole(resolution.runs("tp_size")), whole(resolution.runs("nnodes"))
    launch = replace(launch, tensor=ranks or launch.tensor, nodes=nodes or launch.nodes)
    fusion = fusion_runs(launch, machine.gpu, automatic=automatic)

    def taken(message: Message) -> Taken:
        try:
            return all_reduce_path(launch, machine, message, fusion=fusion)
        except ValueFromLaunch as error:
            return Taken("not_known", error.reason)

    def step(phase: Phase, batch: int) -> Step:
        size, rows = phase.size(batch), batch * phase.rows
        hands = phase.target and (automatic or hands_over(launch.version, target))
        inside, outside = (
            taken(Message(rows, size, phase.dtype, layer=layer, read=automatic)) for layer in (hands, False)
        )
        if phase.name == "prefill" or not launch.graphs:
            # Outside of graphs other sizes part its kernels.
            inside, outside = (
                replace(each, how="") if each.carrier == "custom" else each for each in (inside, outside)
            )
        return Step(phase, batch, size, inside, outside)

    def all_steps() -> Iterator[Step]:
        for phase in phases(launch.version, resolution, target, draft):
            for batch in batches(resolution):
                yield step(phase, batch)

    chunk = prefill(resolution, target)
    return DecodePath(
        launch.tensor,
        tuple(all_steps()) if launch.tensor > 1 else (),
        step(chunk, 1) if chunk is not None and launch.tensor > 1 else None,
        taken(Message(1, 8192)),
        launch.tensor > 1 and bool(launch.flag("enable_dp_attention")),
    )
