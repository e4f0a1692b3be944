"""Text of a launch of which parts may not be known."""

from __future__ import annotations

import re
from collections.abc import Sequence

from eaglecfg.record import record, replace
from eaglecfg.source.secrets import is_secret_name, masked

_ASSIGNED = re.compile(r"\b([A-Za-z_]\w{0,80})=([^\s}'\"]+)")


@record
class Text:
    """``text`` as far as it is known; what is not stands in it as ``${NAME}`` or as it is spelled.

    ``unknown`` names those parts. Text with unknown parts is shown, never used for a value. ``holes`` are
    (begin, end) of those parts in ``text``, and ``named`` the names among ``unknown`` that belong to each;
    where none is given and something is unknown, all of it is.
    """

    text: str
    unknown: tuple[str, ...] = ()
    holes: tuple[tuple[int, int], ...] = ()
    named: tuple[tuple[str, ...], ...] = ()

    def __add__(self, other: Text) -> Text:
        return joined((self, other))

    @property
    def open_parts(self) -> tuple[tuple[int, int], ...]:
        """(begin, end) of what is not known, in the order of the text."""
        return self.holes or (((0, len(self.text)),) if self.unknown else ())

    @property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """The names that belong to each of ``open_parts``."""
        return self.named or tuple(self.unknown for _ in self.open_parts)


EMPTY = Text("")


def joined(pieces: Sequence[Text], between: str = "") -> Text:
    """The pieces as one text."""
    if len(pieces) == 1:
        return pieces[0]
    text = between.join(piece.text for piece in pieces)
    unknown = dict.fromkeys(name for piece in pieces for name in piece.unknown)
    if not unknown:
        return Text(text)
    holes: list[tuple[int, int]] = []
    named: list[tuple[str, ...]] = []
    at = 0
    for piece in pieces:
        holes += [(at + begin, at + end) for begin, end in piece.open_parts]
        named += piece.names
        at += len(piece.text) + len(between)
    return Text(text, tuple(unknown), tuple(holes), tuple(named))


def behind(text: Text, separator: str) -> Text:
    """What stands behind the first separator."""
    part = _part(text, text.text.find(separator) + len(separator), len(text.text))
    return part if part.unknown else replace(part, unknown=text.unknown)


def split(text: Text, separator: str) -> list[Text]:
    """The parts between separators, each with what is not known in it; one inside of such a part is none."""
    out, begin, at = [], 0, 0
    while at <= len(text.text):
        at = text.text.find(separator, at)
        at = len(text.text) if at < 0 else at
        inside = next((end for start, end in text.open_parts if start <= at < end), 0)
        if not inside:
            out.append(_part(text, begin, at))
            begin = at + len(separator)
        at = inside or at + 1
    return out


def _part(text: Text, begin: int, end: int) -> Text:
    """What stands from ``begin`` to ``end``, with what is not known of it."""
    kept = [
        ((a - begin, b - begin), names)
        for (a, b), names in zip(text.open_parts, text.names, strict=True)
        if begin <= a and b <= end
    ]
    unknown = tuple(dict.fromkeys(name for _, names in kept for name in names))
    holes, named = tuple(hole for hole, _ in kept), tuple(names for _, names in kept)
    return Text(text.text[begin:end], unknown, holes, named)


def not_known(name: str) -> Text:
    """The value of a variable that nothing tells."""
    return Text(f"${{{name}}}", (name,))


def spelled(text: str) -> Text:
    """Something that only running it could tell, as it is spelled."""
    return Text(text, (text if len(text) <= 60 else f"{text[:57]}...",))


def guarded(text: str) -> str:
    """``text`` to be shown in a message or a comment: what is a secret in it is blanked."""
    return _ASSIGNED.sub(
        lambda found: f"{found[1]}=***" if is_secret_name(found[1]) else found[0], masked(text)
    )


@record
class Note:
    """Something to tell. ``todo``: the file needs an edit there; else it was read so, or left out.

    ``line`` counts from 1, 0 where no line is meant. ``block``: where in the deployment a comment has to
    stand for it; empty where the value's own line says so already.
    """

    text: str
    line: int = 0
    todo: bool = False
    block: str = ""
