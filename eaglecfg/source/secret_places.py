"""Where the secrets of a file stand, and what they are, so that no excerpt and no message repeats one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from eaglecfg.record import record
from eaglecfg.source.document import Document
from eaglecfg.source.secrets import (
    HIDDEN,
    is_reference,
    is_secret_name,
    masked,
    names_secret,
    redact_data,
    redact_text,
)
from eaglecfg.source.span import KeyPath, Span

SHORTEST = 6
"""Characters of a secret from which on it is replaced wherever it stands in a text; shorter ones where they
stand in quotes, as a word of three letters is in many sentences that do not speak of it."""


@record
class Secrets:
    """The secrets of one file: where they stand, and their texts, longest first."""

    spans: tuple[Span, ...]
    texts: tuple[str, ...]

    def without(self, text: str) -> str:
        """``text`` with every secret of the file, and whatever looks like one, replaced."""
        for secret in self.texts:
            if secret in text:
                if len(secret) >= SHORTEST:
                    text = text.replace(secret, HIDDEN)
                else:
                    text = re.sub(rf"(['\"]){re.escape(secret)}\1", rf"\1{HIDDEN}\1", text)
        return redact_text(text)

    def out_of(self, value: Any) -> Any:
        """Plain data without secrets; ``value`` itself where it holds none."""
        if isinstance(value, str):
            return HIDDEN if value in self.texts else self.without(value)
        if isinstance(value, list | tuple):
            items = [self.out_of(item) for item in value]
            return value if all(new is old for new, old in zip(items, value, strict=True)) else items
        if isinstance(value, Mapping):
            data = redact_data(value)
            return value if data == value else {key: self.out_of(item) for key, item in data.items()}
        return value


NONE = Secrets((), ())
"""Of a file that has no secrets."""

_last: list[tuple[Document, Secrets]] = []


def secrets_of(document: Document) -> Secrets:
    """The secrets of ``document``: what stands under the name of one, or behind its flag in a list.

    Those of the file asked for last are kept: a report asks for each of its findings.
    """
    if _last and _last[0][0] is document:
        return _last[0][1]
    found = list(_below(document.data, (), False))
    texts = {text for _, text in found} | {
        place.text for path, _ in found if (place := document.places.get(path)) is not None and place.text
    }
    spans: list[Span] = []
    for path, _ in found:
        place = document.places.get(path)
        if place is not None:
            spans += [place.value, *([place.origin] if place.origin is not None else [])]
    secrets = Secrets(tuple(spans), tuple(sorted(texts, key=lambda text: (-len(text), text))))
    _last[:] = [(document, secrets)]
    return secrets


def line_without(document: Document, number: int) -> str:
    """Line ``number`` of a file, from 1, with the characters of secrets blanked one by one."""
    if not 0 < number <= len(document.lines):
        return ""
    text = masked(document.lines[number - 1])
    for span in secrets_of(document).spans:
        if span.start.line <= number <= span.end.line:
            start = span.start.column - 1 if span.start.line == number else len(text) - len(text.lstrip())
            end = span.end.column - 1 if span.end.line == number else len(text.rstrip())
            if start < end:
                text = text[:start] + _blank(text[start:end]) + text[end:]
    return text


def _blank(text: str) -> str:
    """``text`` in its quotes, or as ``***``."""
    if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
        return text[0] + "*" * (len(text) - 2) + text[-1]
    return "*" * len(text)


def _below(data: Any, path: KeyPath, secret: bool) -> Iterator[tuple[KeyPath, str]]:
    """Places and texts of secrets in ``data``; ``secret``: everything in it is one."""
    stack = [(data, path, secret)]
    while stack:
        value, at, hidden = stack.pop()
        if isinstance(value, dict):
            stack += [(item, (*at, key), hidden or is_secret_name(key)) for key, item in value.items()]
        elif isinstance(value, list):
            flags = [names_secret(item) for item in value]
            stack += [
                (item, (*at, index), hidden or (index > 0 and flags[index - 1]))
                for index, item in enumerate(value)
            ]
        elif hidden and value not in (None, "") and not isinstance(value, bool):
            text = str(value)
            if not is_reference(text):
                yield at, text
