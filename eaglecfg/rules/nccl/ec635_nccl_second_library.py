"""The engine's own NCCL beside torch's."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings

NAME = "SGLANG_NCCL_SO_PATH"


def check(ctx: Context) -> Iterator[Item]:
    """Captured graphs use the library that the engine loads; torch's groups keep torch's own."""
    view = settings(ctx)
    if view is None or not view.text(NAME):
        yield NotApplicable()
        return
    assert ctx.engine is not None
    hardware = ctx.model.hardware
    pin = str(ctx.engine.values.get("pins", {}).get("torch", "")).removeprefix("==")
    from eaglecfg.nccl.facts import nccl_of_torch

    torchs = nccl_of_torch((hardware.torch if hardware is not None else None) or pin)
    declared = hardware.nccl_version if hardware is not None else None
    differs = declared is not None and torchs is not None and declared != torchs
    yield view.finding(
        NAME,
        f"{NAME} gives captured graphs a library of their own; torch's groups keep "
        + (f"NCCL {torchs}" if torchs else "the one of torch")
        + (f", and hardware.nccl_version is {declared}" if differs else ""),
        severity=Severity.WARNING if differs else None,
        why="one variable may then mean two things in one server, since both libraries read it",
        help="declare the version of the library in hardware.nccl_version, and prefer one that is torch's "
        "own",
        values={"torch": torchs, "declared": declared},
    )


RULE = Rule(
    id="EC635",
    slug="nccl-second-library",
    severity=Severity.INFO,
    today=Today.NOTHING,
    check=check,
    needs=(Need.ENGINE,),
    research=("nccl/S011",),
)
