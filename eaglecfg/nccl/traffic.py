"""What one verify puts on the links between the GPUs: which all-reduces, how many, of how many bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.engines.resolve import Resolution
from eaglecfg.nccl.engine_writes import engine_table
from eaglecfg.nccl.version import at_least

PhaseName = Literal["verify", "decode", "draft step", "draft extend", "prefill"]

SIZES = {"bfloat16": 2, "float16": 2, "float32": 4}
"""Bytes of one element. Activations have the dtype that the model is loaded with, whatever its weights are
quantised to."""

SHOWN_BATCHES = (1, 8)
"""Batch sizes that are always shown, beside the largest that the server runs."""


@dataclass(frozen=True, slots=True)
class Phase:
    """The forward passes of one kind between two verifies.

    ``rows`` are tokens for one request, ``hidden`` the elements of one token, ``forwards`` the passes
    between two verifies. ``calls`` are the all-reduces of one pass, of which ``fusible`` have the norm of a
    layer behind them: not the embedding's, and not the last; None where the class's code was not read, or
    the flags change it. ``why`` says where the number comes from, or why there is none. ``target`` tells
    passes of the target from the draft's.
    """

    name: PhaseName
    rows: int
    hidden: int
    dtype: str
    forwards: int
    calls: int | None
    fusible: int | None
    why: str
    target: bool

    def size(self, batch: int) -> int:
        """Bytes of one all-reduce at ``batch`` requests."""
        return batch * self.rows * self.hidden * SIZES[self.dtype]


def phases(
    version: str, resolution: Resolution, target: ModelConfig | None, draft: ModelConfig | None
) -> tuple[Phase, ...]:
    """The phases of decode in the order in which they run, empty where the files do not tell enough.

    Without a draft there is ``decode`` alone: one token for each request.
    """
    steps, topk, tokens = (
        whole(resolution.runs(f"speculative_{name}"))
        for name in ("num_steps", "eagle_topk", "num_draft_tokens")
    )
    made: list[Phase | None] = []
    if not resolution.runs("speculative_algorithm"):
        made.append(_phase("decode", 1, 1, target, resolution, "target"))
        return tuple(each for each in made if each is not None)
    if draft is not None and topk is not None and steps is not None and steps > 1:
        made.append(_phase("draft step", topk, steps - 1, draft, resolution, "draft"))
    if tokens is not None:
        made.append(_phase("verify", tokens, 1, target, resolution, "target"))
    if draft is not None and steps is not None and tokens is not None:
        rows = _extend_rows(version, steps, tokens)
        made.append(_phase("draft extend", rows, 1, draft, resolution, "draft"))
    return tuple(each for each in made if each is not None)


def batches(resolution: Resolution) -> tuple[int, ...]:
    """The batch sizes to show: 1, 8, and the most requests that the server runs at once, if that is known."""
    most = whole(resolution.runs("max_running_requests"))
    if most is None:
        return SHOWN_BATCHES
    return tuple(sorted({each for each in SHOWN_BATCHES if each < most} | {most}))


def prefill(resolution: Resolution, target: ModelConfig | None) -> Phase | None:
    """One chunk of prefill, for contrast; None where its length is not given."""
    rows = whole(resolution.asked("chunked_prefill_size"))
    return None if rows is None else _phase("prefill", rows, 1, target, resolution, "target")


def _phase(
    name: PhaseName,
    rows: int,
    forwards: int,
    config: ModelConfig | None,
    resolution: Resolution,
    role: Literal["target", "draft"],
) -> Phase | None:
    hidden = config.integer("hidden_size") if config is not None else None
    dtype = resolution.runs(f"{role}.dtype")
    if config is None or hidden is None or dtype not in SIZES:
        return None
    calls, fusible, why = _calls(config, resolution, role)
    return Phase(name, rows, hidden, dtype, forwards, calls, fusible, why, role == "target")


def _calls(
    config: ModelConfig, resolution: Resolution, role: Literal["target", "draft"]
) -> tuple[int | None, int | None, str]:
    """(all-reduces of one pass, of which fusible, why)."""
    table: Mapping[str, Any] = engine_table()["calls"]
    name, layers = config.architecture, config.integer("num_hidden_layers")
    needs = name in table["targets_without_a2a"]
    known = needs or name in table["targets"] if role == "target" else name in table["drafts"]
    backend = resolution.runs("moe_a2a_backend")
    if not known:
        return None, None, f"not known for {name or 'a config without architectures'}"
    if layers is None:
        return None, None, f"not known: {config.file} has no num_hidden_layers"
    if needs and backend not in (None, "none"):
        return None, None, f"not known with --moe-a2a-backend {backend}"
    if (resolution.runs("pp_size") or 1) != 1:
        return None, None, "not known with pipeline stages"
    inside = layers * int(table["per_layer"])
    why = f"{table['per_layer']} for each of {layers} layer{'' if layers == 1 else 's'}, 1 for the embedding"
    return inside + int(table["embedding"]), inside - 1, why


def _extend_rows(version: str, steps: int, tokens: int) -> int:
    """Tokens of the draft's extend pass for one request."""
    for row in engine_table()["calls"]["extend_rows"]:
        if at_least(version, row["since"]) and at_least(row.get("until", version), version):
            return tokens if row["rows"] == "num_draft_tokens" else steps + 1
    return tokens


def whole(value: Any) -> int | None:
    """``value`` where it is a positive whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
