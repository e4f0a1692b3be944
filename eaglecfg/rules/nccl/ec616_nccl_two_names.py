"""One limit under two names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings
from eaglecfg.rules.remedies import without_variable

if TYPE_CHECKING:
    from eaglecfg.rules.nccl.settings import Settings

PAIRS = (
    ("NCCL_MIN_NCHANNELS", "NCCL_MIN_CTAS", "the greater"),
    ("NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS", "the lesser"),
    ("NCCL_MIN_NRINGS", "NCCL_MIN_NCHANNELS", "the newer name"),
    ("NCCL_MAX_NRINGS", "NCCL_MAX_NCHANNELS", "the newer name"),
    ("NCCL_MIN_NRINGS", "NCCL_MIN_CTAS", "the greater"),
    ("NCCL_MAX_NRINGS", "NCCL_MAX_CTAS", "the lesser"),
)
"""Old name, new name, which one holds."""


def check(ctx: Context) -> Iterator[Item]:
    """A limit has an old and a new name; only one of them should be set."""
    view = settings(ctx)
    if view is None:
        yield NotApplicable()
        return
    for old, new, who in PAIRS:
        if old not in view or new not in view:
            continue
        yield view.finding(
            old,
            f"{view.spelled(old)} and {view.spelled(new)} are two names of one limit; {who} holds",
            at_key=True,
            why=f"{old} is the name from before NCCL 2.17",
            help=f"keep {new}",
            related=((view.path(new), "the new name"),),
            fix=without_variable(view, old, safe=who == "the newer name" and _holds(view, new)),
            values={new: view.given[new].text},
        )


def _holds(view: Settings, new: str) -> bool:
    """Whether NCCL takes a number from the newer name: it goes by the old one where it does not."""
    return not view.handed(new) and view.number(new) is not None


RULE = Rule(
    id="EC616",
    slug="nccl-two-names",
    severity=Severity.WARNING,
    today=Today.REWRITTEN,
    check=check,
    follows=("EC615",),
    research=("nccl/N011",),
)
