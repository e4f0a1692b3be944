"""Every rule there is, by family. Explicit: a test compares this list with the files on disk."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from eaglecfg.errors import UsageError
from eaglecfg.rules import (
    architecture,
    arguments,
    bugs,
    capture,
    files,
    live,
    nccl,
    numerics,
    parallel,
    schema,
    shapes,
    study,
    text,
    vocabulary,
)
from eaglecfg.rules.model import Rule

ALL_RULES: tuple[Rule, ...] = tuple(
    sorted(
        (
            *text.RULES,
            *schema.RULES,
            *capture.RULES,
            *shapes.RULES,
            *vocabulary.RULES,
            *numerics.RULES,
            *arguments.RULES,
            *parallel.RULES,
            *nccl.RULES,
            *architecture.RULES,
            *study.RULES,
            *files.RULES,
            *live.RULES,
            *bugs.RULES,
        ),
        key=lambda rule: rule.id,
    )
)

RETIRED: Mapping[str, str] = {}
"""Ids that must never be used again -> the id that took their place, or one sentence."""


def matching(name: str) -> tuple[Rule, ...]:
    """The rules that ``name`` stands for: an id, a slug, or the beginning of an id (``EC2``).

    Raises UsageError, with the nearest known name, when there is none.
    """
    wanted = name.upper() if name[:2].upper() == "EC" else name.lower()
    found = tuple(rule for rule in ALL_RULES if wanted == rule.slug or rule.id.startswith(wanted))
    if found:
        return found
    if wanted in RETIRED:
        raise UsageError(f"rule {wanted} was retired: {RETIRED[wanted]}")
    import difflib  # only on the way to an error

    known = [rule.id for rule in ALL_RULES] + [rule.slug for rule in ALL_RULES]
    near = difflib.get_close_matches(wanted, known, n=1, cutoff=0.7)
    hint = f"did you mean {near[0]}?" if near else "`eaglecfg rules` lists them all."
    raise UsageError(f"there is no rule {name!r}; {hint}")


def chosen(select: Collection[str] = (), ignore: Collection[str] = ()) -> tuple[Rule, ...]:
    """The rules left by ``select`` (all when empty) and ``ignore``. Raises UsageError for unknown names."""
    kept = {rule.id for name in select for rule in matching(name)} if select else {r.id for r in ALL_RULES}
    kept -= {rule.id for name in ignore for rule in matching(name)}
    return tuple(rule for rule in ALL_RULES if rule.id in kept)
