"""The shape of speculation as a deployment asks for it."""

from __future__ import annotations

from eaglecfg.engines.numerals import whole
from eaglecfg.record import record
from eaglecfg.rules.context import Context

EAGLE_FAMILY = frozenset({"EAGLE", "EAGLE3", "NEXTN", "STANDALONE"})
"""Algorithms that share the argument handling of ``_handle_eagle_family`` and its older forms."""


@record
class Asked:
    """Steps, branches and tokens as given; None where the engine is left to choose."""

    steps: int | None
    topk: int | None
    tokens: int | None
    adaptive: bool

    @property
    def open(self) -> bool:
        """Whether all three are left to the engine."""
        return self.steps is None and self.topk is None and self.tokens is None


def algorithm(ctx: Context) -> str | None:
    """The algorithm that will run, in capitals; None where the deployment does not speculate."""
    if ctx.model.speculative == "off" or ctx.only_captures:
        return None
    name = ctx.argument("speculative_algorithm")
    if isinstance(name, str):
        return name.upper()
    return "EAGLE3" if ctx.speculates else None


def asked(ctx: Context) -> Asked | None:
    """The shape that is asked for, or None where no algorithm of the EAGLE family runs or a number was
    refused."""
    if algorithm(ctx) not in EAGLE_FAMILY:
        return None
    names = ("num_steps", "eagle_topk", "num_draft_tokens")
    if ctx.refused("speculative") or any(ctx.refused("speculative", name) for name in names):
        return None
    given = [ctx.argument(f"speculative_{name}") for name in names]
    steps, topk, tokens = (whole(value) for value in given)
    if [steps, topk, tokens].count(None) != given.count(None):
        return None  # one of them is no number, of which another rule says so
    return Asked(steps, topk, tokens, ctx.argument("speculative_adaptive") is True)


def tree_tokens(steps: int, topk: int) -> int:
    """Most tokens that a draft tree can offer for one verify, root included.

    The first step gives ``topk`` candidates, every further one ``topk`` for each of the ``topk`` that were
    kept (sglang 0.5.23 srt/speculative/eagle_utils.py organize_draft_results, a torch.topk over all of them).
    """
    return 1 + topk + (steps - 1) * topk * topk


def adaptive_steps(ctx: Context) -> tuple[int, ...]:
    """Steps that adaptive mode may start with when no config of its own is given; empty where any number will
    do."""
    assert ctx.engine is not None
    values = ctx.engine.values
    return tuple(values.get("adaptive_steps", ())) if values.get("adaptive_sets_shape") else ()
