"""Attention backends as a deployment gives them."""

from __future__ import annotations

from eaglecfg.rules.context import Context


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
