"""The way from a rule to the settings it looks at. Light: most deployments set nothing of NCCL's."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from eaglecfg.rules.context import Context

if TYPE_CHECKING:
    from eaglecfg.rules.nccl.settings import Settings

_NEIGHBOURS = ("NCCL_", "TORCH_NCCL_", "CUDA_", "SGLANG_")
"""Beginnings of the variables that bear on collectives."""


def settings(ctx: Context, *, flags: Collection[str] = ()) -> Settings | None:
    """The settings of a deployment, None where it has none of NCCL's variables or its neighbours', nor any of
    ``flags``."""
    model = ctx.model
    given = model.nccl or any(name.startswith(_NEIGHBOURS) for name in model.env)
    if not given and not any(_runs(ctx, flag) for flag in flags):
        return None
    from eaglecfg.rules.nccl.settings import look  # with the facts and the grammars behind it

    return look(ctx)


def _runs(ctx: Context, flag: str) -> Any:
    return ctx.resolution.runs(flag) if ctx.resolution is not None else ctx.argument(flag)
