"""Who carries the all-reduces of a deployment, from what a rule may look at.

Rules, reports and the tuner ask here, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from eaglecfg.errors import ValueFromLaunch
from eaglecfg.nccl.decode_path import DecodePath, decode_path
from eaglecfg.nccl.lists import PROTOCOLS, Allowed
from eaglecfg.nccl.paths import TITLES, Machine
from eaglecfg.nccl.selection import left_for
from eaglecfg.rules.context import Context
from eaglecfg.rules.nccl.settings import Settings, look

LETS_GO = ("disable_custom_all_reduce", "enforce_disable_flashinfer_allreduce_fusion")
"""Flags that take all-reduces from the engine's own implementation and from FlashInfer."""


def path_of(
    ctx: Context, *, without: Collection[str] = (), flags: Mapping[str, Any] | None = None
) -> DecodePath | None:
    """The decode path of a deployment; None where no engine version is known.

    ``without``: as if it did not set these variables; ``flags``: as if it gave these flags.
    """
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
    given, runs = flags or {}, view.launch.flag
    launch = replace(
        view.launch_without(without),
        version=ctx.engine.facts_of,
        flag=lambda name: given[name] if name in given else runs(name),
    )
    return decode_path(
        launch, Machine(view.topology, view.gpu), ctx.resolution, target, draft, automatic=automatic
    )


def pairs_for(view: Settings, ranks: int) -> frozenset[tuple[str, str]]:
    """The algorithms and protocols among which NCCL chooses for an all-reduce here, its settings and the
    engine's writes applied. Values that are handed on leave everything open."""
    barred = {"NVLSTree": "one node", "CollNetDirect": "no plug-in", "CollNetChain": "no plug-in"}
    if not _nvls(view) or view.gpu is None or view.gpu.major < 9 or view.topology != "nvswitch":
        barred["NVLS"] = "off"
    protocols = _allowed(view, "NCCL_PROTO")
    pairs = left_for("AllReduce", _allowed(view, "NCCL_ALGO"), protocols, barred).pairs
    listed = protocols is not None and protocols.of("AllReduce") is not None
    if not listed and not Machine(view.topology, view.gpu).linked(ranks):
        # Not named, LL128 is only for NVLink.
        pairs = frozenset(pair for pair in pairs if pair[1] != PROTOCOLS[1])
    return pairs


def _nvls(view: Settings) -> bool:
    try:
        return view.number("NCCL_NVLS_ENABLE") != 0
    except ValueFromLaunch:
        return True


def _allowed(view: Settings, name: str) -> Allowed | None:
    try:
        return view.allowed(name)
    except ValueFromLaunch:
        return None


def asleep_because(ctx: Context) -> str:
    """Why no setting of NCCL's can act on an all-reduce of decode or verify, empty where one may."""
    path = path_of(ctx)
    return asleep_on(path) if path is not None else ""


def asleep_on(path: DecodePath) -> str:
    """Why no setting of NCCL's can act on ``path``, empty where one may."""
    if path.nccl:
        return ""
    taken = path.takers[0]
    if taken.carrier == "none":
        return taken.why
    return f"NCCL carries no all-reduce of decode or verify: {TITLES[taken.carrier]} does, {taken.why}"


def open_because(view: Settings, path: DecodePath | None, *, start: bool = False) -> str:
    """Why it is open whether NCCL carries decode, and what to declare; empty where it is settled. With
    ``start`` what only the server's start decides counts as settled too."""
    question = "whether NCCL carries decode"
    if path is None:
        return f"{question}: name an engine version that eaglecfg knows"
    if path.carried or path.open is None or (start and path.open.carrier != "not_known"):
        return ""
    wanted = list(path.open.wanted)
    if "hardware.gpu" in wanted and view.gpu_name:
        return f"{question}: hardware.gpu is {view.gpu_name}, of which nothing is known"
    return f"{question}: " + (f"declare {' and '.join(wanted)}" if wanted else path.open.why)


def waking(ctx: Context) -> tuple[str, ...]:
    """The flags with which NCCL would carry decode, as few as do; empty where none of ours would."""
    assert ctx.engine is not None
    known = tuple(name for name in LETS_GO if name in ctx.engine.flags)
    for names in (*((name,) for name in known), known):
        path = path_of(ctx, flags=dict.fromkeys(names, True))
        if names and path is not None and path.carried:
            return names
    return ()
