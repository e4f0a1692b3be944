"""Names that are nearly variables: the one that is meant, and the one that says the opposite."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache, lru_cache

_TURNS = ("DISABLE", "DISABLED", "OFF", "NO", "WITHOUT")
_PLAIN = ("ENABLE", "ENABLED", "ON", "WITH")
_SIDES = (("MIN", "MAX"), ("SEND", "RECV"), ("TX", "RX"), ("INTRA", "INTER"), ("LOW", "HIGH"))
"""Words of names that are nearly alike in letters and mean different things."""

_LIKE = 0.72
"""How alike two names must be, the part that all share left out."""


def nearest(name: str, known: Collection[str], prefix: str = "NCCL_") -> str | None:
    """The known name that ``name`` alone can be a slip of, None where there is none.

    A name that would turn the value's meaning around (ENABLE and DISABLE, MIN and MAX) is never one.
    """
    import difflib  # only on the way to a finding

    stem = _stem(name, prefix)
    if len(stem) < 2:
        return None
    squashed = name.replace("_", "")
    exact = next((one for one in known if one.replace("_", "") == squashed), None)
    if exact is not None:
        return exact
    able = [one for one in known if same_sense(name, one)]
    for one in difflib.get_close_matches(name, able, n=3, cutoff=_LIKE):
        other = _stem(one, prefix) if name.startswith(prefix) else one
        if difflib.SequenceMatcher(None, stem, other).ratio() >= _LIKE:
            return one
    return None


def opposite(name: str, known: Collection[str]) -> str | None:
    """The known name that turns off what ``name`` turns on, or the other way round."""
    words = _subject(name)
    found = (one for one in known if negative(one) != negative(name) and _subject(one) == words)
    return next(found, None) if words else None


def meant(name: str) -> tuple[str | None, str | None]:
    """For a name that NCCL does not read: (the variable that is meant, else one that says the opposite)."""
    from eaglecfg.nccl.facts import related, variable_names

    renamed: str | None = related()["renamed"].get(name)
    if renamed is not None:
        return (renamed, None) if same_sense(name, renamed) else (None, renamed)
    turned = opposite(name, variable_names())
    return (None, turned) if turned else (nearest(name, variable_names()), None)


@lru_cache(maxsize=1 << 14)
def negative(name: str) -> bool:
    """Whether a value of 1 turns something off under this name."""
    return any(_turn(word) == -1 for word in name.upper().split("_"))


def same_sense(name: str, other: str) -> bool:
    """Whether a value means the same under both names, as far as the names tell."""
    return negative(name) == negative(other) and not _other_side(name, other)


@cache
def _turn(word: str) -> int:
    """-1 for DISABLE, 1 for ENABLE, slips of the two included, 0 for other words."""
    if word in _TURNS or word in _PLAIN:
        return -1 if word in _TURNS else 1
    if not 5 <= len(word) <= 9 or word[0] not in "DEUI":
        return 0
    import difflib

    ratios = [difflib.SequenceMatcher(None, word, one).ratio() for one in ("DISABLE", "ENABLE")]
    if max(ratios) < 0.76:
        return 0
    return -1 if ratios[0] > ratios[1] else 1


def _subject(name: str) -> tuple[str, ...]:
    """The words of a name without those that turn it on or off, in an order of their own."""
    words = [word for word in name.split("_") if word and not _turn(word)]
    return tuple(sorted(words)) if len(words) > 1 else ()


def _stem(name: str, prefix: str) -> str:
    own = name.removeprefix(prefix)
    return "_".join(word for word in own.split("_") if not _turn(word)) or own


def _other_side(name: str, other: str) -> bool:
    one, two = _words(name), _words(other)
    return any((a in one and b in two) or (b in one and a in two) for a, b in _SIDES)


def _words(name: str) -> frozenset[str]:
    return frozenset(name.upper().split("_"))
