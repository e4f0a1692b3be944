"""Settings of captured collectives that do not go together."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings
from eaglecfg.rules.remedies import without_variable

ORDER, MIXING = "NCCL_GRAPH_STREAM_ORDERING", "NCCL_GRAPH_MIXING_SUPPORT"


def check(ctx: Context) -> Iterator[Item]:
    """Without order edges nothing may mix, and without mixing support nothing may run beside a graph."""
    view = settings(ctx)
    if view is None or not (ORDER in view or MIXING in view):
        yield NotApplicable()
        return
    mixing = view.number(MIXING)
    # With symmetric memory the engine asks each communicator for graphs only, which means the same as 0.
    alone = mixing == 0 or (mixing is None and view.symmetric)
    if ORDER in view and view.number(ORDER) == 0 and not alone:
        yield view.finding(
            ORDER,
            f"{view.spelled(ORDER)} is supported only with {MIXING}=0, which is "
            f"{mixing if mixing is not None else 1}",
            why="without its order edges nothing keeps captured calls apart from others on the same "
            "communicator",
            help=f"set {MIXING}=0 as well, or leave {ORDER} out",
            values={MIXING: mixing},
        )
    if MIXING not in view:
        return
    if mixing == 0 and view.flag("enable_pdmux"):
        yield view.finding(
            MIXING,
            f"{view.spelled(MIXING)} does not go with --enable-pdmux, which runs collectives beside graphs",
            why="NCCL then assumes that captured and plain calls never overlap",
            fix=without_variable(view, MIXING),
            help=f"leave {MIXING} out",
        )
    elif mixing == 1 and view.symmetric:
        yield view.finding(
            MIXING,
            f"{view.spelled(MIXING)} undoes what --enable-symm-mem asks of its communicators",
            severity=Severity.WARNING,
            today=Today.SLOWER,
            why="the engine creates them for graphs only, and the variable wins over that",
            fix=without_variable(view, MIXING),
            help=f"leave {MIXING} out",
        )


RULE = Rule(
    id="EC625",
    slug="nccl-graph-order",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    follows=(
        "EC602",
        "EC604",
        "EC606",
    ),
    research=(
        "nccl/G002",
        "nccl/G003",
        "nccl/G004",
    ),
)
