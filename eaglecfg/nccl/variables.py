"""The variables of a deployment that NCCL or its neighbours read: the ``nccl`` block and ``env``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from eaglecfg.engines.command import environment_name, handed_on
from eaglecfg.nccl.engine_writes import engine_variables
from eaglecfg.schema.deployment import Deployment
from eaglecfg.source.span import KeyPath

_NEIGHBOURS = ("NCCL_", "TORCH_NCCL_")
_NAMED = frozenset(
    (
        "CUDA_DEVICE_MAX_CONNECTIONS",
        "CUDA_MODULE_LOADING",
        "CUDA_VISIBLE_DEVICES",
        "CUDA_LAUNCH_BLOCKING",
    )
)


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable under the name that the server's environment gets. ``path`` is its place inside the
    deployment, ``text`` its value as spelled. ``handed``: the text stands for a value that only whoever
    launches knows."""

    name: str
    text: str
    path: KeyPath
    handed: bool = False


_REFERENCE = re.compile(r"\$(\{[A-Za-z_][A-Za-z0-9_]*\}|[A-Za-z_][A-Za-z0-9_]*)")


def _open(name: str, text: str) -> bool:
    """Whether ``text`` stands for a value that is not here. One that names another variable is a fault of its
    own, and its letters are not worth judging."""
    return text == handed_on(name) or _REFERENCE.fullmatch(text) is not None


def variables(deployment: Deployment) -> Mapping[str, Variable]:
    """Every NCCL variable that the deployment sets, and those of torch, CUDA and the engine that bear on
    collectives.

    Where both blocks set one, the ``nccl`` block's value is taken, as in the environment that is rendered.
    """
    out: dict[str, Variable] = {}
    own = engine_variables("sglang")
    for name, text in deployment.env.items():
        if name in _NAMED or name.startswith(_NEIGHBOURS) or name in own:
            out[name] = Variable(name, text, ("env", name), _open(name, text))
    for key, text in deployment.nccl.items():
        name = environment_name(key)
        out[name] = Variable(name, text, ("nccl", key), _open(name, text))
    return out
