"""``engine-diff`` as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from eaglecfg.engines.disagreements import TOPICS, Comparison, Disagreement
from eaglecfg.engines.facts import EngineFacts

WIDEST = 160
"""Characters of one side. A list of forty choices is for the JSON form."""


def as_json(facts: EngineFacts, comparison: Comparison) -> str:
    """The comparison, for a program."""
    out = {
        "version": 1,
        "engine": facts.name,
        "wheel_version": facts.version,
        "facts_of": facts.facts_of,
        "standing": facts.standing,
        "compared": comparison.compared,
        "differences": [asdict(one) for one in comparison.disagreements],
        "unread": comparison.unread,
    }
    return json.dumps(out, indent=2, ensure_ascii=False) + "\n"


def render(facts: EngineFacts, comparison: Comparison) -> str:
    """The comparison, for a maintainer."""
    return "\n".join(_lines(facts, comparison)) + "\n"


def _lines(facts: EngineFacts, comparison: Comparison) -> Iterator[str]:
    known = facts.standing == "known"
    against = "" if known else f", which is not among the known versions: compared with {facts.facts_of}"
    yield f"wheel of {facts.name} {facts.version}{against}"
    for topic in TOPICS:
        chosen = [one for one in comparison.disagreements if one.topic == topic]
        if chosen:
            yield ""
            yield f"{topic}: {_count(len(chosen), 'difference')}"
            for one in chosen:
                yield from _one(one)
    yield ""
    counts = ", ".join(f"{comparison.compared[topic]} {topic}" for topic in TOPICS)
    yield f"compared: {counts}"
    for line in comparison.unread:
        yield f"not compared: {line}"
    total = len(comparison.disagreements)
    yield f"{_count(total, 'difference')} between the facts and the wheel" if total else "no difference"
    if total and not known:
        yield "docs/new-engine-release.md says what to do about each"


def _one(one: Disagreement) -> Iterator[str]:
    place = f"  ({one.source})" if one.source else ""
    yield f"  {one.name}{place}"
    yield f"    facts: {_short(one.told) or 'nothing'}"
    yield f"    wheel: {_short(one.found) or 'nothing'}"
    if one.hint:
        yield f"    {one.hint}"


def _short(text: str) -> str:
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
