"""Attention backends as a deployment gives them, and as the engine picks them where it gives none."""

from __future__ import annotations

from typing import Literal

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.record import record
from eaglecfg.rules.context import Context
from eaglecfg.source.span import KeyPath

Stage = Literal["decode", "prefill"]


@record
class Used:
    """A backend that runs. ``flag`` gives it, None where the engine picks it; ``source`` is where that was
    read."""

    name: str
    flag: str | None
    source: str = ""

    @property
    def word(self) -> str:
        """``attention_backend fa3``, or the name alone of a backend that the engine picks."""
        return self.name if self.flag is None else f"{self.flag} {self.name}"


def backend(ctx: Context, stage: str) -> tuple[str | None, str]:
    """The backend given for ``stage`` (``decode`` or ``prefill``) and the flag that gives it; None: left to
    the engine."""
    for name in (f"{stage}_attention_backend", "attention_backend"):
        value = ctx.argument(name)
        if isinstance(value, str):
            return value, name
    return None, "attention_backend"


def given_backends(ctx: Context) -> dict[str, str]:
    """Every attention backend that is given, by flag."""
    names = ("attention_backend", "prefill_attention_backend", "decode_attention_backend")
    values = {name: ctx.argument(name) for name in names}
    return {name: value for name, value in values.items() if isinstance(value, str)}


def used(ctx: Context, stage: Stage) -> Used | None:
    """What the target runs in ``stage``, None where files do not tell."""
    name, flag = backend(ctx, stage)
    if name is not None:
        return Used(name, flag)
    if ctx.resolution is None:
        return None
    setting = ctx.resolution.get("attention_backend")
    runs = setting.runs
    return Used(runs, None, setting.source) if isinstance(runs, str) and setting.origin == "default" else None


def running(ctx: Context) -> list[Used]:
    """What the target runs, for decode first, as far as files tell."""
    return [one for one in (used(ctx, "decode"), used(ctx, "prefill")) if one is not None]


def picked_path(ctx: Context, one: Used) -> KeyPath:
    """The place of what leads to a backend: its flag, else the GPU, else the deployment."""
    if one.flag is not None:
        return ctx.argument_path(one.flag)
    return ctx.where("hardware", "gpu") if gpu_of(ctx)[0] else ctx.where()


def picked_words(ctx: Context, one: Used) -> str:
    """``, which sglang 0.5.14 picks for KimiK25ForConditionalGeneration on B200,``; empty for a given one."""
    if one.flag is not None:
        return ""
    assert ctx.engine is not None
    target = ctx.target.config if ctx.target is not None else None
    name = target.architecture if target is not None else None
    gpu, _ = gpu_of(ctx)
    return f", which sglang {ctx.engine.version} picks for {name}" + (f" on {gpu}," if gpu else ",")


def gpu_of(ctx: Context) -> tuple[str | None, int | None]:
    """The GPU as the hardware block names it and its major compute capability, each None where unknown."""
    name = ctx.model.hardware.gpu if ctx.model.hardware is not None else None
    if not name:
        return None, None
    from eaglecfg.engines.gpu import capability_major  # most files name no GPU

    return name, capability_major(name)


def configs(ctx: Context) -> tuple[ModelConfig | None, ModelConfig | None]:
    """The configs of target and draft as the engine reads them."""
    assert ctx.resolution is not None
    both = [one.config if one is not None else None for one in (ctx.target, ctx.draft)]
    target, draft = (ctx.resolution.overridden(one) if one is not None else None for one in both)
    return target, draft
