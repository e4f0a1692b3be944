"""Lines of text with styles, so that one renderer serves a terminal, a pipe and a file.

Control characters come out as escapes, and what looks like a secret not at all, wherever a text is from.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Literal

from eaglecfg.record import record
from eaglecfg.source.secrets import redact_text

Style = Literal["plain", "bold", "error", "warning", "info", "good", "dim", "place"]

_RICH = {
    "plain": "",
    "bold": "bold",
    "error": "bold red",
    "warning": "bold yellow",
    "info": "bold cyan",
    "good": "bold green",
    "dim": "dim",
    "place": "blue",
}


@record
class Part:
    """A run of text in one style."""

    text: str
    style: Style = "plain"


Line = tuple[Part, ...]

_SHORT_LIST = re.compile(r"\[[^\[\]]{1,30}\]")
_KEPT_SPACE = "\x00"
"""Stands for a space that must not become a line break; no text to be shown holds it."""


def line(*parts: str | Part) -> Line:
    """A line from plain strings and parts."""
    return tuple(Part(part) if isinstance(part, str) else part for part in parts)


def plain(lines: Iterable[Line]) -> str:
    """The text without styles; ends with a newline when there is any line."""
    return "".join("".join(_shown(part) for part in each).rstrip() + "\n" for each in lines)


def coloured(lines: Sequence[Line]) -> str:
    """The text with terminal colours. rich is imported here: most runs write to a pipe and do without it."""
    from io import StringIO

    from rich.console import Console
    from rich.text import Text

    out = StringIO()
    # Wide enough never to wrap: the terminal wraps better, and copied text stays whole.
    # NO_COLOR was asked about already: who comes here wants colours, and rich must not ask again.
    console = Console(
        file=out,
        force_terminal=True,
        color_system="standard",
        width=10_000,
        highlight=False,
        no_color=False,
    )
    for each in lines:
        text = Text()
        for part in each:
            text.append(_shown(part), style=_RICH[part.style])
        text.rstrip()
        console.print(text, soft_wrap=True)
    return out.getvalue()


def _shown(part: Part) -> str:
    """The last look at a text on its way out."""
    return redact_text(visible(part.text))


def cells(text: str) -> int:
    """Terminal columns that ``text`` takes: wide characters two, combining and control characters none."""
    if text.isascii() and text.isprintable():
        return len(text)
    total = 0
    for character in text:
        if unicodedata.combining(character) or unicodedata.category(character) in ("Cc", "Cf"):
            continue
        total += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return total


def visible(text: str) -> str:
    """``text`` with control characters escaped, so that a file cannot drive the reader's terminal."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in text
    )


def wrapped(lead: Line, text: str, width: int, indent: str, style: Style = "plain") -> list[Line]:
    """``lead`` and ``text``, wrapped with a hanging indent. Short lists in brackets stay whole."""
    room = max(width, 40)
    used = sum(cells(part.text) for part in lead) + 1
    rows = textwrap.wrap(
        _SHORT_LIST.sub(lambda found: found[0].replace(" ", _KEPT_SPACE), text),
        room,
        initial_indent="x" * used,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]
    rows = [row.replace(_KEPT_SPACE, " ") for row in rows]
    first = (*lead, Part(" "), Part(rows[0][used:], style))
    return [first, *(line(Part(row, style)) for row in rows[1:])]
