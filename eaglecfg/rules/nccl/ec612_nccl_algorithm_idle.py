"""Algorithms in the list that cannot act, and lists that hang on one algorithm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from eaglecfg.nccl.version import FORCED_SINCE
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings

if TYPE_CHECKING:
    from eaglecfg.rules.nccl.settings import Settings

NAME = "NCCL_ALGO"


def check(ctx: Context) -> Iterator[Item]:
    """A listed algorithm that cannot run here is worth a note; one that stands alone with gaps, a warning."""
    view = settings(ctx)
    allowed = view.allowed(NAME) if view is not None and NAME in view else None
    if view is None or allowed is None or view.tensor <= 1:
        yield NotApplicable()
        return
    from eaglecfg.rules.nccl.algorithms import idle, left_alone, partial

    yield from _idle(view, {} if view.text(NAME).startswith("^") else idle(view))
    if left_alone(view) == {"NVLS"}:
        yield view.finding(
            NAME,
            f"{view.spelled(NAME)} leaves NVLS as the only algorithm of all-reduce, and NVLS knows no 8-bit "
            "types",
            severity=Severity.WARNING,
            today=Today.CRASH_AT_FIRST_REQUEST,
            why="NVLS reduces float16, bfloat16 and sums of float32; an all-reduce of another type then "
            "fails",
            help="add one that does the rest: allreduce:nvls,ring",
        )
    if (partial(allowed) or view.symmetric) and view.recent(FORCED_SINCE):
        yield from _later(view, partial(allowed))


def _idle(view: Settings, reasons: Mapping[str, str]) -> Iterator[Item]:
    if reasons:
        yield view.finding(
            NAME,
            f"{view.spelled(NAME)} lists {', '.join(reasons)}, which cannot run here",
            why="; ".join(dict.fromkeys(reasons.values())),
            help="leave out what cannot run, so that the list says what happens",
        )


def _later(view: Settings, partial: bool) -> Iterator[Item]:
    if partial:
        yield view.finding(
            NAME,
            f"{view.spelled(NAME)} names some collectives only; NCCL {view.version} leaves the others "
            "without an "
            "algorithm as soon as a protocol is forced for them",
            severity=Severity.WARNING,
            today=Today.CRASH_AT_FIRST_REQUEST,
            why=f"from {FORCED_SINCE} on a collective that the list does not name is looked up in an empty "
            "row",
            help="begin with an entry for all: ring,tree;" + view.text(NAME),
        )
    if view.symmetric:
        yield view.finding(
            NAME,
            f"{view.spelled(NAME)} takes symmetric kernels out of the choice of NCCL {view.version}",
            severity=Severity.WARNING,
            today=Today.SLOWER,
            why=f"from {FORCED_SINCE} on they are candidates like the others, and a list of algorithms "
            "leaves them out",
            help="leave NCCL_ALGO out where --enable-symm-mem shall act",
        )


RULE = Rule(
    id="EC612",
    slug="nccl-algorithm-idle",
    severity=Severity.INFO,
    today=Today.IGNORED,
    check=check,
    follows=(
        "EC610",
        "EC611",
        "EC622",
    ),
    research=(
        "nccl/A009",
        "nccl/A011",
        "nccl/A012",
        "nccl/A014",
        "nccl/A016",
    ),
)
