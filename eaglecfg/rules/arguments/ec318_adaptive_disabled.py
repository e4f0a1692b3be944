"""EC318: adaptive steps that the engine switches off."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.arguments.shape import algorithm, asked
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.parallel.ranks import ranks
from eaglecfg.rules.remedies import leave_out


def check(ctx: Context) -> Iterator[Item]:
    shape = asked(ctx)
    if shape is None or not shape.adaptive:
        yield NotApplicable()
        return
    because = ""
    if algorithm(ctx) not in ("EAGLE", "EAGLE3"):
        because = f"algorithm is {algorithm(ctx)}"
    elif shape.topk is not None and shape.topk != 1:
        because = f"eagle_topk is {shape.topk}"
    elif ranks(ctx).groups > 1 or ctx.model.parallel.enable_dp_attention:
        because = "attention runs data-parallel"
    else:
        off = ("enable_multi_layer_eagle", "enable_two_batch_overlap", "enable_pdmux")
        because = next((f"{name} is on" for name in off if ctx.argument(name) is True), "") or _chosen(ctx)
    if not because:
        return
    yield Finding(
        f"speculative_adaptive is switched off because {because}",
        path=ctx.argument_path("speculative_adaptive"),
        why="adaptive steps work for EAGLE and EAGLE3 chains without data-parallel attention; one log line "
        "says that it is off",
        help="leave out speculative_adaptive, or write eagle_topk: 1"
        if "topk" in because
        else "leave out speculative_adaptive",
        fix=leave_out(ctx, "speculative_adaptive", safe=_off_when_settled(ctx)),
        values={"speculative_adaptive": True},
    )


def _off_when_settled(ctx: Context) -> bool:
    """Whether adaptive steps are off before the shape is settled, which may come from them otherwise."""
    return ctx.resolution is not None and not ctx.resolution.runs("speculative_adaptive")


def _chosen(ctx: Context) -> str:
    """The reason in a version that chooses a tree for this target where no shape is given."""
    settled = ctx.resolution
    if settled is None or settled.get("speculative_adaptive").origin != "rewritten":
        return ""
    return f"eagle_topk is not given and {settled.runs('speculative_eagle_topk')} is chosen"


RULE = Rule(
    id="EC318",
    slug="adaptive-disabled",
    severity=Severity.WARNING,
    today=Today.REWRITTEN,
    check=check,
    needs=(Need.ENGINE,),
    follows=("EC301",),
    research=("ARG-18",),
)
