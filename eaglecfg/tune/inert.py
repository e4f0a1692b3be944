"""Keys of a space that cannot change a measurement: launching them would only measure noise."""

from __future__ import annotations

from eaglecfg.schema.deployment import Deployment
from eaglecfg.tune.arm import spelled
from eaglecfg.tune.space import Space

RANKS = ("tp_size", "dp_size", "pp_size", "ep_size", "nnodes")
COMMUNICATION = frozenset(
    (
        "disable_custom_all_reduce",
        "enable_nccl_nvls",
        "enable_symm_mem",
        "enable_mscclpp",
        "enable_torch_symm_mem",
    )
)
"""Server flags that only choose how ranks talk to each other."""


def inert_keys(space: Space) -> dict[str, str]:
    """Searched keys that cannot matter -> why. Nothing is left out that another searched key could wake."""
    searched = {spelled(key) for key in space.searched}
    if any(path[0] == "parallel" for path in searched) or _ranks(space.base) > 1:
        return {}
    out = {}
    for dimension in space.dimensions:
        path = spelled(dimension.key)
        talks = path[0] == "nccl" or (path[0] == "env" and path[-1].startswith("NCCL_"))
        if dimension.size > 1 and (talks or (path[0] == "server" and path[-1] in COMMUNICATION)):
            out[dimension.key] = "one rank has nobody to talk to: parallel.tp_size is 1"
    return out


def _ranks(deployment: Deployment) -> int:
    sizes = [getattr(deployment.parallel, name) or 1 for name in RANKS]
    given = [deployment.server.get(name) for name in RANKS]
    return max(*sizes, *(value for value in given if isinstance(value, int)), 1)
