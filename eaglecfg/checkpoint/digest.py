"""The SHA-256 of a checkpoint's one weight file, read as a stream; only checks that open every file ask."""

from __future__ import annotations

import hashlib
import os

from eaglecfg.checkpoint.facts import CheckpointFacts
from eaglecfg.checkpoint.fault import FileFault
from eaglecfg.checkpoint.regular import opened, read_range
from eaglecfg.record import record

PIECE = 16 * 1024 * 1024
"""Bytes read at a time."""


@record
class WeightDigest:
    """``file`` as shown and its SHA-256 in lower-case hex; or ``problem``, why there is none."""

    file: str = ""
    sha256: str = ""
    problem: str = ""


def weight_digest(checkpoint: CheckpointFacts) -> WeightDigest:
    """Of the one weight file that ``checkpoint`` has. Several files have no common digest."""
    names = [name for name in checkpoint.files if name.endswith((".safetensors", ".bin"))]
    if len(names) != 1:
        count = f"{len(names)} weight files" if names else "no weight file that could be read"
        return WeightDigest(problem=f"{checkpoint.shown} has {count}, the record speaks of one")
    shown = f"{checkpoint.shown}/{names[0]}"
    running, start = hashlib.sha256(), 0
    try:
        with opened(os.path.join(checkpoint.folder, names[0]), shown) as (descriptor, _):  # noqa: PTH118
            while piece := read_range(descriptor, start, PIECE, shown):
                running.update(piece)
                start += len(piece)
    except FileFault as fault:
        return WeightDigest(problem=fault.problem.message)
    return WeightDigest(file=shown, sha256=running.hexdigest())
