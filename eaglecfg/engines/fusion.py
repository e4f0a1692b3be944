"""Whether the engine fuses the tensor-parallel all-reduce into the norm that follows it."""

from __future__ import annotations

import re

from eaglecfg.engines.facts import EngineFacts
from eaglecfg.engines.resolve import Resolution
from eaglecfg.record import record

FUSING = re.compile(r"\bG?(H100|H200|H800|B100|B200|B300)\b", re.IGNORECASE)
"""GPUs of compute capability 9.0 and 10.x, the only ones where the engine fuses."""

SWITCH = "enable_flashinfer_allreduce_fusion"
OFF = "enforce_disable_flashinfer_allreduce_fusion"


@record
class Fusion:
    """``runs`` is None where only the GPU is left to decide, and that is not named.

    ``asked``: by a flag; otherwise it is what the version does by default for the class.
    """

    runs: bool | None
    asked: bool = False


def fusion_of(
    facts: EngineFacts, architecture: str | None, resolution: Resolution, gpu: str | None
) -> Fusion:
    """What this version does for a target of ``architecture`` on GPUs named ``gpu``."""
    asked = bool(resolution.runs(SWITCH))
    one_host = (resolution.runs("nnodes") or 1) == 1
    by_default = one_host and architecture in facts.values.get("allreduce_fusion_auto", ())
    if (resolution.runs("tp_size") or 1) < 2 or not (asked or by_default):
        return Fusion(False, asked)
    # With data-parallel attention an EAGLE draft never sees it.
    if resolution.runs("enable_dp_attention") or resolution.runs(OFF):
        return Fusion(False, asked)
    if gpu is None:
        return Fusion(None, asked)
    return Fusion(FUSING.search(gpu) is not None, asked)
