"""A collective that is left without an algorithm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from eaglecfg.nccl.version import PREFIXES_SINCE
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings

if TYPE_CHECKING:
    from eaglecfg.nccl.selection import Left
    from eaglecfg.rules.nccl.settings import Settings


def check(ctx: Context) -> Iterator[Item]:
    """NCCL_ALGO and NCCL_PROTO together must leave each collective a pair that can run."""
    view = settings(ctx)
    if view is None:
        yield NotApplicable()
        return
    names = [name for name in ("NCCL_ALGO", "NCCL_PROTO") if name in view]
    if not names or view.tensor <= 1:
        yield NotApplicable()
        return
    from eaglecfg.rules.nccl.algorithms import lost

    collectives = lost(view)
    if collectives:
        yield _finding(view, names, collectives)


def _finding(view: Settings, names: list[str], lost: tuple[Left, ...]) -> Finding:
    which = ", ".join(left.collective for left in lost)
    shown = " with ".join(
        f"{name}={view.sees(name).text}" for name in ("NCCL_ALGO", "NCCL_PROTO") if _set(view, name)
    )
    reasons = list(dict.fromkeys(reason for left in lost for reason in left.idle.values()))
    strict = view.recent(PREFIXES_SINCE)
    outcome = "the first such call fails" if strict else f"NCCL {view.version} falls back to Ring"
    return view.finding(
        names[0],
        f"{shown} leaves no algorithm for {which}; {outcome}",
        severity=None if strict else Severity.INFO,
        today=Today.CRASH_AT_FIRST_REQUEST if strict else Today.REWRITTEN,
        why="; ".join(reasons) or "none of the allowed protocols goes with the allowed algorithms",
        help=_advice(view, lost),
        related=tuple((view.path(name), "and this") for name in names[1:]),
        values={"collectives": [left.collective for left in lost]},
    )


def _advice(view: Settings, lost: tuple[Left, ...]) -> str:
    """What brings the lost collectives an algorithm: a protocol, the algorithm itself, or another one."""
    from eaglecfg.rules.nccl.algorithms import barred

    protocols, bars = view.allowed("NCCL_PROTO"), barred(view)
    if protocols is not None and any(protocols.of(left.collective) == frozenset() for left in lost):
        return "leave a protocol in, such as NCCL_PROTO=LL,Simple"
    idle = {name: why for left in lost for name, why in left.idle.items()}
    if any(" only" in why for name, why in idle.items() if name not in bars):
        return "leave Simple in NCCL_PROTO, or name an algorithm that runs the others: ring or tree"
    stuck = [name for name in idle if name in bars]
    if not stuck or any(why.startswith(f"{name} does no ") for name, why in idle.items()):
        return "begin with an entry for all the others, such as NCCL_ALGO=ring,tree;allreduce:tree"
    more = f"add ring to the list, or leave {', '.join(stuck)} out"
    if "NVLS" in stuck and "SGLang sets" in bars["NVLS"]:
        more = f"set enable_nccl_nvls: true, or {more}"
    return more


def _set(view: Settings, name: str) -> bool:
    return bool(view.sees(name).text)


RULE = Rule(
    id="EC611",
    slug="nccl-no-algorithm",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_FIRST_REQUEST,
    check=check,
    follows=(
        "EC610",
        "EC622",
    ),
    research=(
        "nccl/A008",
        "nccl/A009",
        "nccl/A010",
        "nccl/A011",
        "nccl/A013",
        "nccl/A014",
        "nccl/S003",
    ),
)
