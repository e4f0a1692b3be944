"""Prompts of random tokens from the target's vocabulary, the same for the same seed on every machine."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from eaglecfg.checkpoint.facts import CheckpointFacts
from eaglecfg.checkpoint.load import read_checkpoint
from eaglecfg.errors import UsageError
from eaglecfg.schema.study import RandomPrompts
from eaglecfg.tune.trial import Prompt


def random_prompts(wanted: RandomPrompts, base: Path, target: str) -> tuple[Prompt, ...]:
    """``wanted.count`` prompts of token ids. ``target`` is the checkpoint as the config spells it, relative
    to ``base``; ids that its files call special are left out. Raises UsageError where its vocabulary is not
    known.
    """
    facts = read_checkpoint(base, target, role="target")
    size = facts.config.integer("vocab_size") if facts.config is not None else None
    if size is None:
        raise UsageError(
            f"workload.random: expected a target whose config.json tells its vocab_size, got {target}; "
            f"prompts of a file, with input_ids, need no vocabulary."
        )
    special = special_ids(facts)
    if size <= len(special):
        raise UsageError(
            f"workload.random: {target} has a vocab_size of {size}, of which no ids are left beside special "
            f"ones."
        )
    return tuple(
        Prompt(f"random-{number}", tuple(_ids(wanted, number, size, special)))
        for number in range(wanted.count)
    )


def _ids(wanted: RandomPrompts, number: int, size: int, special: frozenset[int]) -> Iterator[int]:
    # By number, so that a larger count keeps the prompts that were there.
    chooser = random.Random(f"{wanted.seed}/{number}")
    left = wanted.input_tokens
    while left:
        token = chooser.randrange(size)
        if token not in special:
            left -= 1
            yield token


def special_ids(facts: CheckpointFacts) -> frozenset[int]:
    """Ids that config.json, generation_config.json or tokenizer_config.json of a checkpoint call special."""
    found: set[int] = set()
    for data in (facts.config.raw if facts.config is not None else None, facts.generation_config):
        found |= set(_named(data))
    added = (facts.tokenizer_config or {}).get("added_tokens_decoder")
    for token, about in added.items() if isinstance(added, Mapping) else ():
        if str(token).isdecimal() and isinstance(about, Mapping) and about.get("special"):
            found.add(int(token))
    return frozenset(found)


def _named(data: Any, depth: int = 0) -> Iterator[int]:
    """Values of keys such as eos_token_id, in nested blocks as well; a key may hold a list."""
    if not isinstance(data, Mapping) or depth > 4:
        return
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from _named(value, depth + 1)
        elif isinstance(key, str) and key.endswith(("_token_id", "_token_index")):
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, int) and not isinstance(one, bool):
                    yield one
