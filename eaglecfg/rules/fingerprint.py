"""What makes a finding the same one after lines have moved and texts were reworded."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from eaglecfg.rules.outcome import Reported
from eaglecfg.source.span import show_path

VERSION = 1
"""Of the recipe below. A change makes every baseline stale, so it is part of what tools are told."""

LONGEST = 500
"""Characters of source text that take part, for findings that stand at no key."""


def fingerprint(found: Reported, turn: int = 0) -> str:
    """32 hexadecimal digits from rule, deployment, key path and the values that took part.

    Lines, messages and the name of the file take no part. ``turn`` tells findings apart that agree in all
    of that: 0 for the first.
    """
    finding = found.finding
    parts: list[Any] = [VERSION, found.rule.id, found.deployment, show_path(finding.path)]
    parts.append(_canonical(finding.values))
    if not finding.values:
        parts.append([[each.key, each.text] for each in finding.evidence])
    if not finding.path:
        parts.append(_source(found))
    if turn:
        parts.append(turn)
    text = json.dumps(parts, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:32]


def fingerprints(every: Iterable[Reported]) -> list[str]:
    """One for each finding, in their order, no two alike within a file."""
    turns: Counter[tuple[str, str]] = Counter()
    out = []
    for found in every:
        first = fingerprint(found)
        turn = turns[found.document.name, first]
        turns[found.document.name, first] += 1
        out.append(fingerprint(found, turn) if turn else first)
    return out


def _canonical(value: Any) -> Any:
    """``value`` in the one form that JSON has for it; what JSON does not know is its text."""
    if isinstance(value, dict):
        return {str(key): _canonical(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(inner) for inner in value]
    if isinstance(value, set | frozenset):
        return sorted((_canonical(inner) for inner in value), key=str)
    if value is None or isinstance(value, str | bool | int):
        return value
    return str(value)


def _source(found: Reported) -> str:
    """The text under the marks, without its layout."""
    start, end = found.span.start, found.span.end
    lines = list(found.document.lines[start.line - 1 : end.line])
    if lines:
        lines[-1] = lines[-1][: end.column - 1]
        lines[0] = lines[0][start.column - 1 :]
    return " ".join(" ".join(lines).split())[:LONGEST]
