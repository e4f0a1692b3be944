"""The last look at what a finding says: whatever a file holds, the text stays short and printable."""

from __future__ import annotations

import re
from typing import Any

from eaglecfg.record import replace
from eaglecfg.rules.model import Evidence, Finding

LONGEST = 600
"""Characters of one text of a finding. Ours stay far below; what a file holds may not."""

MOST_VALUES = 1_000
"""Entries, or characters, of one value."""

_WORD = re.compile(r"\S{241,}")


def tidied(finding: Finding) -> Finding:
    """``finding`` with every text cut where a value made it too long, and control characters escaped.

    ``values`` are for machines: only what is far too long is cut there. ``fix`` stays as it is.
    """
    if any(_long(value) for value in finding.values.values()):
        values = {
            name: value[:MOST_VALUES] if _long(value) else value for name, value in finding.values.items()
        }
        finding = replace(finding, values=values)
    texts = (finding.message, finding.why, finding.help, *finding.arithmetic)
    notes = [note for _, note in finding.related]
    evidence = [part for each in finding.evidence for part in (each.file, each.key, each.text, each.note)]
    if all(_fine(text) for text in (*texts, *notes, *evidence)):
        return finding
    return replace(
        finding,
        message=tidy(finding.message),
        why=tidy(finding.why),
        help=tidy(finding.help),
        arithmetic=tuple(map(tidy, finding.arithmetic)),
        related=tuple((path, tidy(note)) for path, note in finding.related),
        evidence=tuple(map(_evidence, finding.evidence)),
    )


def _long(value: Any) -> bool:
    return isinstance(value, str | list | tuple) and len(value) > MOST_VALUES


def tidy(text: str) -> str:
    """``text`` on printable characters only; of a long word, and of a long text, the two ends."""
    if _fine(text):
        return text
    text = _WORD.sub(lambda word: f"{word[0][:160]}…{word[0][-40:]}", text)
    if len(text) > LONGEST:
        text = f"{text[:440]} … {text[-140:]}"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _fine(text: str) -> bool:
    return len(text) <= 240 and text.isprintable()


def _evidence(each: Evidence) -> Evidence:
    return replace(each, file=tidy(each.file), key=tidy(each.key), text=tidy(each.text), note=tidy(each.note))
