"""Who carries the all-reduces of a deployment, from what a rule may look at."""

from __future__ import annotations

from dataclasses import replace

from eaglecfg.nccl.decode_path import DecodePath, decode_path
from eaglecfg.nccl.lists import PROTOCOLS
from eaglecfg.nccl.paths import TITLES, Machine
from eaglecfg.nccl.selection import left_for
from eaglecfg.rules.context import Context
from eaglecfg.rules.nccl.settings import Settings, look


def path_of(ctx: Context) -> DecodePath | None:
    """The decode path of a deployment; None where no engine version is known."""
    view = look(ctx)
    if view.launch is None or ctx.resolution is None or ctx.engine is None:
        return None
    target, draft = (
        None if each is None or each.config is None else ctx.resolution.overridden(each.config)
        for each in (ctx.target, ctx.draft)
    )
    automatic = target is not None and target.architecture in ctx.engine.values.get(
        "allreduce_fusion_auto", ()
    )
    launch = replace(view.launch, version=ctx.engine.facts_of)
    return decode_path(
        launch, Machine(view.topology, view.gpu), ctx.resolution, target, draft, automatic=automatic
    )


def pairs_for(view: Settings, ranks: int) -> frozenset[tuple[str, str]]:
    """The algorithms and protocols among which NCCL chooses for an all-reduce here, its settings and the
    engine's writes applied."""
    barred = {"NVLSTree": "one node", "CollNetDirect": "no plug-in", "CollNetChain": "no plug-in"}
    enabled = view.number("NCCL_NVLS_ENABLE")
    if enabled == 0 or view.gpu is None or view.gpu.major < 9 or view.topology != "nvswitch":
        barred["NVLS"] = "off"
    protocols = view.allowed("NCCL_PROTO")
    pairs = left_for("AllReduce", view.allowed("NCCL_ALGO"), protocols, barred).pairs
    listed = protocols is not None and protocols.of("AllReduce") is not None
    if not listed and not Machine(view.topology, view.gpu).linked(ranks):
        # Not named, LL128 is only for NVLink.
        pairs = frozenset(pair for pair in pairs if pair[1] != PROTOCOLS[1])
    return pairs


def asleep_because(ctx: Context) -> str:
    """Why no setting of NCCL's can act on an all-reduce of decode or verify, empty where one may."""
    path = path_of(ctx)
    if path is None or path.nccl:
        return ""
    taken = path.takers[0]
    if taken.carrier == "none":
        return taken.why
    return f"NCCL carries no all-reduce of decode or verify: {TITLES[taken.carrier]} does, {taken.why}"
