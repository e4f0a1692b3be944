"""EC419: a GPU that no table knows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, NotApplicable, Rule, Severity, Today

COMMON = re.compile(r"\b(?:G?(?:H100|H200|B200|B300)|A100|L40S?)\b", re.IGNORECASE)
"""Names in most files, for which the table of all need not be read."""


def check(ctx: Context) -> Iterator[Item]:
    hardware = ctx.model.hardware
    if hardware is None or not hardware.gpu:
        yield NotApplicable()
        return
    if COMMON.search(hardware.gpu) is not None:
        return
    from eaglecfg.nccl.gpus import gpu_of

    if gpu_of(hardware.gpu) is not None:
        return
    yield Finding(
        f"hardware.gpu {hardware.gpu} is no GPU that eaglecfg knows; what depends on it was not decided",
        path=ctx.where("hardware", "gpu"),
        why="which backends, NCCL protocols and fused kernels run depends on the GPU",
        help="write the name as `nvidia-smi -L` prints it; if it is right, read the findings without it",
        values={"gpu": hardware.gpu},
    )


RULE = Rule(
    id="EC419",
    slug="gpu-unknown",
    severity=Severity.INFO,
    today=Today.NOTHING,
    check=check,
)
