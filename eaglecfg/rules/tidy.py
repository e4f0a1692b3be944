"""The last look at what a finding says: whatever a file holds, the text stays short, printable and without
secrets."""

from __future__ import annotations

import re
from typing import Any

from eaglecfg.record import replace
from eaglecfg.rules.model import Evidence, Finding
from eaglecfg.source.secret_places import NONE, Secrets
from eaglecfg.source.secrets import HIDDEN, is_secret_name

LONGEST = 600
"""Characters of one text of a finding. Ours stay far below; what a file holds may not."""

MOST_VALUES = 1_000
"""Entries, or characters, of one value."""

_WORD = re.compile(r"\S{241,}")


def tidied(finding: Finding, secrets: Secrets = NONE) -> Finding:
    """``finding`` with every text cut where a value made it too long, control characters escaped, and none of
    the ``secrets`` of its file, nor what looks like one.

    ``values`` are for machines: only what is far too long is cut there. ``fix`` stays as it is.
    """
    values = {name: _value(name, value, secrets) for name, value in finding.values.items()}
    if values != finding.values:
        finding = replace(finding, values=values)

    def fine(text: str) -> str:
        return tidy(text, secrets)

    texts = (finding.message, finding.why, finding.help, *finding.arithmetic)
    notes = [note for _, note in finding.related]
    evidence = [part for each in finding.evidence for part in (each.file, each.key, each.text, each.note)]
    hidden = any(map(_secret, finding.evidence))
    if not hidden and all(fine(text) is text for text in (*texts, *notes, *evidence)):
        return finding
    return replace(
        finding,
        message=fine(finding.message),
        why=fine(finding.why),
        help=fine(finding.help),
        arithmetic=tuple(map(fine, finding.arithmetic)),
        related=tuple((path, fine(note)) for path, note in finding.related),
        evidence=tuple(_evidence(each, secrets) for each in finding.evidence),
    )


def _value(name: str, value: Any, secrets: Secrets) -> Any:
    value = value[:MOST_VALUES] if _long(value) else value
    return HIDDEN if value and isinstance(value, str) and is_secret_name(name) else secrets.out_of(value)


def _long(value: Any) -> bool:
    return isinstance(value, str | list | tuple) and len(value) > MOST_VALUES


def tidy(text: str, secrets: Secrets = NONE) -> str:
    """``text`` on printable characters only, without secrets; of a long word and a long text the two ends.

    Returns ``text`` itself where nothing is to be done.
    """
    text = secrets.without(text)
    if _fine(text):
        return text
    text = _WORD.sub(lambda word: f"{word[0][:160]}…{word[0][-40:]}", text)
    if len(text) > LONGEST:
        text = f"{text[:440]} … {text[-140:]}"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _fine(text: str) -> bool:
    return len(text) <= 240 and text.isprintable()


def _evidence(each: Evidence, secrets: Secrets) -> Evidence:
    file, key, text, note = (tidy(part, secrets) for part in (each.file, each.key, each.text, each.note))
    return replace(each, file=file, key=key, text=HIDDEN if _secret(each) else text, note=note)


def _secret(each: Evidence) -> bool:
    """Whether the text is the value of a secret; without quotes it says that there is none."""
    return each.text[:1] in ("'", '"') and is_secret_name(each.key)
