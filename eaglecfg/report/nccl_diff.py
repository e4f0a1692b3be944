"""``nccl-diff`` as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from eaglecfg.nccl.facts import variable_fact, variable_names
from eaglecfg.nccl.library import Comparison, facts_of
from eaglecfg.nccl.version import at_least


def as_json(library: str, comparison: Comparison) -> str:
    """The comparison, for a program."""
    out = {
        "version": 1,
        "library": library,
        "nccl_version": comparison.version or None,
        "facts_of": list(facts_of()),
        "known": len(variable_names()),
        "found": comparison.found,
        "unknown": list(comparison.unknown),
        "missing": list(comparison.missing),
        "unexpected": list(comparison.early),
    }
    return json.dumps(out, indent=2, ensure_ascii=False) + "\n"


def render(library: str, comparison: Comparison) -> str:
    """The comparison, for a maintainer."""
    return "\n".join(_lines(library, comparison)) + "\n"


def _lines(library: str, comparison: Comparison) -> Iterator[str]:
    version = comparison.version
    yield f"NCCL {version or 'of a version that its strings do not tell'}: {library}"
    if not version:
        yield "names are compared without regard to versions; --nccl VERSION gives one"
    yield from _beyond(version)
    yield from _list("in the library, and not in the facts", comparison.unknown)
    yield from _list(f"in the facts for {version}, and not in the library", comparison.missing)
    yield from _list(f"in the library, and not in the facts for {version}", comparison.early, sayings=True)
    yield ""
    known = len(variable_names())
    yield f"compared: {comparison.found} of the {known} variables in the facts are in the library"
    total = len(comparison.unknown) + len(comparison.missing) + len(comparison.early)
    yield f"{total} {'difference' if total == 1 else 'differences'}" if total else "no difference"


def _beyond(version: str) -> Iterator[str]:
    """A word where the library is of a version that the facts were not read in."""
    oldest, newest = facts_of()[0], facts_of()[-1]
    if version and not at_least(newest, version):
        yield f"the facts end at NCCL {newest}: what came later is not in them, and validate does not know it"
    elif version and not at_least(version, oldest):
        yield f"the facts begin at NCCL {oldest}: what was gone by then may not be in them"


def _list(title: str, names: Sequence[str], *, sayings: bool = False) -> Iterator[str]:
    if not names:
        return
    yield ""
    yield f"{title}: {len(names)}"
    for name in names:
        fact = variable_fact(name) if sayings else None
        told = _span(fact.first, str(fact.get("until") or "")) if fact is not None else ""
        yield f"  {name}{told}"


def _span(first: str, last: str) -> str:
    said = [f"from {first}" if first else "", f"until {last}" if last else ""]
    words = " ".join(each for each in said if each)
    return f"  (facts: {words})" if words else ""
