"""Every rule there is, by family. Explicit: a test compares this list with the files on disk.

``ALL_RULES`` are all of them. Those about a running server and about the values of weights load when they are
asked for: most checks look at config files and headers alone, and a pre-deploy check counts its milliseconds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from eaglecfg.errors import UsageError
from eaglecfg.rules import (
    architecture,
    arguments,
    bugs,
    capture,
    files,
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

if TYPE_CHECKING:
    ALL_RULES: tuple[Rule, ...]

FILE_RULES: tuple[Rule, ...] = tuple(
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
            *bugs.RULES,
        ),
        key=lambda rule: rule.id,
    )
)

"""The rules that every check runs: they look at config files and headers alone."""


def __getattr__(name: str) -> Any:
    if name != "ALL_RULES":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return every_rule()


@cache
def every_rule() -> tuple[Rule, ...]:
    """The rules of every check, and those that are asked for, by id."""
    return tuple(sorted((*FILE_RULES, *asked_for("live"), *asked_for("weights")), key=lambda rule: rule.id))


def asked_for(family: Literal["live", "weights"]) -> tuple[Rule, ...]:
    """The rules of a family that loads when it is asked for."""
    if family == "live":
        from eaglecfg.rules import live

        return live.RULES
    from eaglecfg.rules import weights

    return weights.RULES


RETIRED: Mapping[str, str] = {}
"""Ids that must never be used again -> the id that took their place, or one sentence."""


def matching(name: str) -> tuple[Rule, ...]:
    """The rules that ``name`` stands for: an id, a slug, or the beginning of an id (``EC2``).

    Raises UsageError, with the nearest known name, when there is none.
    """
    wanted = name.upper() if name[:2].upper() == "EC" else name.lower()
    found = tuple(rule for rule in every_rule() if wanted == rule.slug or rule.id.startswith(wanted))
    if found:
        return found
    if wanted in RETIRED:
        raise UsageError(f"rule {wanted} was retired: {RETIRED[wanted]}")
    import difflib  # only on the way to an error

    known = [rule.id for rule in every_rule()] + [rule.slug for rule in every_rule()]
    near = difflib.get_close_matches(wanted, known, n=1, cutoff=0.7)
    hint = f"did you mean {near[0]}?" if near else "`eaglecfg rules` lists them all."
    raise UsageError(f"there is no rule {name!r}; {hint}")


def chosen(
    select: Collection[str] = (),
    ignore: Collection[str] = (),
    *,
    live: bool = False,
    weights: bool = False,
) -> tuple[Rule, ...]:
    """The rules left by ``select`` (all when empty) and ``ignore``. Raises UsageError for unknown names.

    Rules about a running server are among them where one is asked (``live``), those about values where they
    are read (``weights``), and both where they are named.
    """
    kept = {rule.id for name in select for rule in matching(name)}
    kept_not = {rule.id for name in ignore for rule in matching(name)}
    rules = every_rule() if select else FILE_RULES
    if not select and (live or weights):
        more = (*(asked_for("live") if live else ()), *(asked_for("weights") if weights else ()))
        rules = tuple(sorted((*FILE_RULES, *more), key=lambda rule: rule.id))
    return tuple(rule for rule in rules if (rule.id in kept or not select) and rule.id not in kept_not)
