"""A machine whose CUDA, torch or Python does not go with the engine."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotApplicable, Rule, Severity, Today


def check(ctx: Context) -> Iterator[Item]:
    """The hardware block's cuda, torch and python against the pins of this version's wheel."""
    hardware = ctx.model.hardware
    assert ctx.engine is not None
    if hardware is None or not (hardware.cuda or hardware.torch or hardware.python):
        yield NotApplicable()
        return
    yield from _cuda(ctx, hardware.cuda)
    yield from _torch(ctx, hardware.torch)
    yield from _python(ctx, hardware.python)


def _cuda(ctx: Context, cuda: str | None) -> Iterator[Item]:
    assert ctx.engine is not None
    fact = ctx.engine.values.get("least_cuda")
    major = (cuda or "").partition(".")[0]
    if fact is None or not major.isdigit() or int(major) >= fact["major"]:
        return
    least, last = fact["major"], fact["last_before"]
    yield Finding(
        f"sglang {ctx.engine.version} needs CUDA {least} or later, but hardware.cuda is {cuda}",
        path=ctx.where("hardware", "cuda"),
        why="its wheels bring kernels and a torch built for that CUDA; they do not load on an older one",
        help=f"update the driver and CUDA to {least}"
        + f", or run sglang {last}, the last with builds for older ones",
        evidence=_pin(ctx, "least_cuda", f"CUDA {least}"),
        values={"cuda": cuda, "least": least},
    )


def _torch(ctx: Context, torch: str | None) -> Iterator[Item]:
    assert ctx.engine is not None
    pin = ctx.engine.values.get("pins", {}).get("torch", "")
    if not torch or not pin.startswith("==") or torch.partition("+")[0] == pin[2:]:
        return
    yield Finding(
        f"sglang {ctx.engine.version} pins torch {pin[2:]}, but hardware.torch is {torch}",
        path=ctx.where("hardware", "torch"),
        severity=Severity.WARNING,
        why="kernels of the wheel are built for that torch; another one fails at import or, worse, later",
        help=f"install torch {pin[2:]}",
        evidence=_pin(ctx, "pins", f"torch{pin}"),
        values={"torch": torch, "pinned": pin[2:]},
    )


def _python(ctx: Context, python: str | None) -> Iterator[Item]:
    assert ctx.engine is not None
    pin = ctx.engine.values.get("pins", {}).get("python", "")
    if not python or not pin.startswith(">="):
        return
    try:
        have, least = (tuple(int(part) for part in text.split(".")[:2]) for text in (python, pin[2:]))
    except ValueError:
        return
    if have >= least:
        return
    yield Finding(
        f"sglang {ctx.engine.version} needs Python {pin[2:]} or later, but hardware.python is {python}",
        path=ctx.where("hardware", "python"),
        why="pip refuses to install it",
        help=f"use Python {pin[2:]} or later",
        evidence=_pin(ctx, "pins", f"python{pin}"),
        values={"python": python, "least": pin[2:]},
    )


def _pin(ctx: Context, fact: str, text: str) -> tuple[Evidence, ...]:
    assert ctx.engine is not None
    source = ctx.engine.sources.get(fact)
    return (Evidence(f"sglang {ctx.engine.facts_of}", source, text),) if source else ()


RULE = Rule(
    id="EC329",
    slug="installed-versions",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE, Need.HARDWARE),
    research=("VER-01", "VER-02", "VER-03"),
)
