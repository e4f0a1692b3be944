"""Names of speculative algorithms by engine version."""

from __future__ import annotations

from eaglecfg.engines.facts import EngineFacts
from eaglecfg.rules.context import Context
from eaglecfg.rules.versions import all_versions

FLAG = "speculative_algorithm"


def known_algorithms(facts: EngineFacts) -> tuple[tuple[str, ...], str]:
    """The names that this version takes, and the ``file:line`` that says so."""
    flag = facts.flags[FLAG]
    if flag.choices is not None:
        return flag.choices, flag.source
    listed = facts.values["algorithms"]
    return tuple(listed), facts.sources["algorithms"]


def any_case(facts: EngineFacts) -> bool:
    """Whether the name may be written in small letters: fixed choices are compared letter by letter."""
    return bool(facts.values["algorithm_upper_cased"])


def first_version(context: Context, name: str) -> str | None:
    """The first version of the engine that knows ``name``."""
    assert context.engine is not None
    for facts in all_versions(context.engine):
        known = known_algorithms(facts)[0]
        if name in known or (any_case(facts) and name.upper() in known):
            return facts.version
    return None


def nearest(name: str, known: tuple[str, ...]) -> str | None:
    """The known name that ``name`` is a misspelling of, if any."""
    import difflib  # only on the way to a finding

    plain = name.upper().replace("-", "").replace("_", "").replace(" ", "")
    by_plain = {each.replace("_", ""): each for each in known}
    found = difflib.get_close_matches(plain, list(by_plain), n=1, cutoff=0.7)
    return by_plain[found[0]] if found else None
