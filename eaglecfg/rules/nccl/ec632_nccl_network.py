"""Network settings that contradict each other or catch too much."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings
from eaglecfg.rules.remedies import write_variable

if TYPE_CHECKING:
    from eaglecfg.rules.nccl.settings import Settings


def check(ctx: Context) -> Iterator[Item]:
    """Networks, cards and interfaces must be possible and told apart."""
    view = settings(ctx)
    if view is None:
        yield NotApplicable()
        return
    if view.text("NCCL_NET").lower() == "ib" and view.number("NCCL_IB_DISABLE") == 1:
        yield view.finding(
            "NCCL_NET",
            f"{view.spelled('NCCL_NET')} asks for the network that {view.spelled('NCCL_IB_DISABLE')} turns "
            "off",
            severity=Severity.ERROR,
            today=Today.CRASH_AT_START,
            why="NCCL finds no network of that name then and stops at initialisation",
            help="keep one of the two",
            related=((view.path("NCCL_IB_DISABLE"), "turned off here"),),
            values={"NCCL_IB_DISABLE": view.text("NCCL_IB_DISABLE")},
        )
    if len(view.text("NCCL_SOCKET_IFNAME")) == 1:
        yield view.finding(
            "NCCL_SOCKET_IFNAME",
            f"{view.spelled('NCCL_SOCKET_IFNAME')} is too short a name; NCCL ignores it",
            severity=Severity.ERROR,
            today=Today.SILENT,
            why="values of one character are skipped",
            help="write the interface's name, or the beginning of it",
        )
    yield from _cards(view)
    yield from _sockets(view)
    queues, split = view.number("NCCL_IB_QPS_PER_CONNECTION"), view.number("NCCL_IB_SPLIT_DATA_ON_QPS")
    if queues is not None and queues > 1 and split == 1 and view.nodes > 1:
        yield view.finding(
            "NCCL_IB_QPS_PER_CONNECTION",
            f"{view.spelled('NCCL_IB_QPS_PER_CONNECTION')} with {view.spelled('NCCL_IB_SPLIT_DATA_ON_QPS')} "
            "cuts decode's "
            "small messages into smaller ones",
            why="each piece pays the latency of a message of its own",
            fix=write_variable(view, "NCCL_IB_SPLIT_DATA_ON_QPS", "0"),
            help="set NCCL_IB_SPLIT_DATA_ON_QPS=0",
        )


def _cards(view: Settings) -> Iterator[Item]:
    name = "NCCL_IB_HCA"
    text = view.text(name)
    if not text or text.lstrip("^").startswith("=") or view.nodes == 1:
        return
    cards = [part.partition(":")[0] for part in text.lstrip("^").split(",")]
    loose = [card for card in cards if re.fullmatch(r".*_1", card) and f"{card}0" not in cards]
    exact = f"{'^' if text.startswith('^') else ''}={text.lstrip('^')}"
    if loose:
        yield view.finding(
            name,
            f"{view.spelled(name)} matches by beginning: {loose[0]} is also {loose[0]}0 and all that begin "
            "like it",
            why="without = in front every card whose name begins so is taken",
            help=f"write {exact}",
            fix=write_variable(view, name, exact),
        )


def _sockets(view: Settings) -> Iterator[Item]:
    threads, each = view.number("NCCL_SOCKET_NTHREADS"), view.number("NCCL_NSOCKS_PERTHREAD")
    if threads is None or each is None or threads * each <= 64 or "NCCL_NSOCKS_PERTHREAD" not in view:
        return
    yield view.finding(
        "NCCL_NSOCKS_PERTHREAD",
        f"{threads} threads of {each} sockets are {threads * each}; NCCL uses 64 at most",
        today=Today.REWRITTEN,
        why="it warns and lowers the sockets of each thread",
        help="bring the product down to 64",
        arithmetic=(f"{threads} × {each} = {threads * each}",),
    )


RULE = Rule(
    id="EC632",
    slug="nccl-network",
    severity=Severity.WARNING,
    today=Today.SLOWER,
    check=check,
    follows=(
        "EC604",
        "EC606",
        "EC608",
    ),
    research=(
        "nccl/W002",
        "nccl/W003",
        "nccl/W005",
        "nccl/W007",
        "nccl/W009",
    ),
)
