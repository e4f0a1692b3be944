"""What a launch gets from around it: variables of the shell, GPUs, driver. Kept, and compared when a study
goes on.

Launches are compared with each other only where they ran on the same GPUs, with the same variables that act
on a server. What else changes between two sessions is said, and no more.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from typing import Any

from eaglecfg.source.secrets import redact_environment
from eaglecfg.tune.gpu import Gpu

ACTING = (
    "NCCL_",
    "TORCH_",
    "TORCHINDUCTOR_",
    "PYTORCH_",
    "CUDA_",
    "CUBLAS_",
    "CUTE_",
    "SGLANG_",
    "SGL_",
    "FLASHINFER_",
    "TRITON_",
    "TRTLLM_",
    "DG_",
    "FLA_",
    "NVSHMEM_",
    "MSCCLPP_",
    "MC_",
    "HIP_",
    "HSA_",
    "ROCM_",
    "RCCL_",
    "AITER_",
    "CK_",
    "OMP_",
    "MKL_",
    "KMP_",
    "GLOO_",
    "UCX_",
    "FI_",
    "LD_",
    "MALLOC_",
    "SYNC_TOKEN_IDS_ACROSS_TP",
    "USE_TRITON_W8A8_FP8_KERNEL",
    "IN_BATCH_PREFIX_CACHING_",
    "NVIDIA_TF32_OVERRIDE",
)
"""Beginnings of names of variables that act on how fast a server is: the engine's and those of what it is
built on. The engine reads some under plain names (0.5.14 srt/layers/sampler.py, srt/layers/quantization/
fp8_utils.py, srt/managers/schedule_policy.py)."""

WHICH_GPUS = frozenset({"CUDA_VISIBLE_DEVICES"})
"""Acts by the GPUs that it leaves, which are compared themselves."""

TOLD = (
    "HF_",
    "HUGGINGFACE_",
    "TRANSFORMERS_",
    "NVIDIA_",
    "PYTHON",
    "EAGLECFG_",
    "VLLM_",
    "RUNAI_",
    "TOKENIZERS_",
)
"""Beginnings of names of variables that may explain something, and are kept for that."""

TOLD_NAMES = frozenset(
    {"PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "TMPDIR"}
)

Place = Mapping[str, Any]
"""``gpus``: UUIDs of all that a server sees, in CUDA's order. ``host``: the machine's name where there are
none. ``variables``: those that act, secrets hidden."""


def acting(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that act on a server's speed, secrets hidden."""
    chosen = {
        name: value
        for name, value in environ.items()
        if name.startswith(ACTING) and name not in WHICH_GPUS and name.isascii()
    }
    return redact_environment(chosen)


def recorded(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that a record keeps, secrets hidden."""
    chosen = {
        name: value
        for name, value in environ.items()
        if name.startswith((*ACTING, *TOLD)) or name.upper() in TOLD_NAMES
    }
    return redact_environment(chosen)


def place_of(gpus: Sequence[Gpu], environ: Mapping[str, str]) -> Place:
    """The place of a session whose servers see ``gpus`` and inherit ``environ``."""
    return {
        "gpus": [gpu.uuid for gpu in gpus],
        "host": "" if gpus else platform.node(),
        "variables": acting(environ),
    }


def comparable(place: Place | None, other: Place | None, used: Sequence[str] = ()) -> bool:
    """Whether a launch of a session at ``place`` may be compared with those at ``other``. ``used`` are the
    UUIDs of its own GPUs: they have to be those that a launch would use now. A place that is not known
    (records of before it was kept) is taken for the same."""
    if place is None or other is None:
        return True
    if place["host"] != other["host"] or place["variables"] != other["variables"]:
        return False
    before, now = list(place["gpus"]), list(other["gpus"])
    if before == now or not used:
        return before == now
    return all(
        uuid in before and before.index(uuid) < len(now) and now[before.index(uuid)] == uuid for uuid in used
    )


def place_changes(place: Place, other: Place) -> list[str]:
    """In words, what of a place is another now, so that launches before it are set aside."""
    words = []
    if place["host"] != other["host"]:
        words.append(
            f"the machine (was {place['host'] or 'one with GPUs'}, is {other['host'] or 'one with GPUs'})"
        )
    if place["gpus"] != other["gpus"]:
        words.append(f"the GPUs (were {_listed(place['gpus'])}, are {_listed(other['gpus'])})")
    return words + variable_changes(place["variables"], other["variables"])


def variable_changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Variables with another value, with both."""
    return [
        f"{name} ({_value(before.get(name))}, now {_value(now.get(name))})"
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]


def _listed(uuids: Sequence[str]) -> str:
    return ", ".join(uuids) or "none"


def _value(text: str | None) -> str:
    if text is None:
        return "unset"
    return text if len(text) <= 40 else f"{text[:37]}..."
