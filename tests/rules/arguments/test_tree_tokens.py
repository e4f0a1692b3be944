"""How many tokens a draft tree can offer."""

from __future__ import annotations

import pytest

from eaglecfg.rules.arguments.shape import tree_tokens


def grown(steps: int, topk: int) -> int:
    """The tree grown step by step: of all candidates of a step the best ``topk`` go on."""
    offered, kept = topk, topk
    for _ in range(steps - 1):
        offered += kept * topk
        kept = min(topk, kept * topk)
    return 1 + offered


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("topk", [1, 2, 4, 8])
def test_tree_tokens_counts_what_a_tree_offers(steps: int, topk: int) -> None:
    assert tree_tokens(steps, topk) == grown(steps, topk)


def test_a_chain_offers_a_token_a_step_and_the_root() -> None:
    assert tree_tokens(5, 1) == 6
