"""Versions of the engine that a launch installs before it starts the server."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from eaglecfg.record import record
from eaglecfg.review.imports.commands import Command
from eaglecfg.review.imports.text import Text

_INSTALLERS = re.compile(r"(?:pip|pipx|uv|uvx|poetry|pdm|rye)[\d.]*")
_IN_FRONT = re.compile(
    r"(?:.*/)?(?:sudo|env|exec|command|time|nohup|python[\d.]*)|-\w*|--|[A-Za-z_]\w*=.*", re.S
)
_VERBS = frozenset(("install", "add", "--with", "--from", "sync"))
_PIN = re.compile(r"sglang(?:\[[\w, -]*\])?===?v?(\d+\.\d+\.\d+[A-Za-z0-9.]*)(?:[ ;].*)?", re.S)


@record
class Pin:
    """``version``, which ``text`` asks for. ``certain``: no condition decides whether it is installed."""

    version: str
    text: str
    certain: bool


def before(
    commands: Sequence[Command], pins: tuple[Pin, ...] = ()
) -> Iterator[tuple[Command, tuple[Pin, ...]]]:
    """Each command with the pins in front of it; ``pins`` stand in front of all."""
    for command in commands:
        yield command, pins
        pins = (*pins, *pins_of(command.words, certain=command.certain))


def pins_of(words: Sequence[Text], *, certain: bool = True) -> tuple[Pin, ...]:
    """The versions that a command installs: ``pip install 'sglang[all]==0.5.12'`` and the like."""
    texts = [word.text for word in words]
    start = 0
    while start < len(texts) and _IN_FRONT.fullmatch(texts[start]):
        start += 1
    if start == len(texts) or not _INSTALLERS.fullmatch(posixpath.basename(texts[start])):
        return ()
    if not _VERBS.intersection(texts[start:]):
        return ()
    found = [(word, match) for word in words[start:] if (match := _PIN.fullmatch(word.text))]
    # [all] is a pattern to a shell, which leaves it as it is where no file has such a name.
    return tuple(
        Pin(match[1], f"{texts[start]} install {word.text}", certain)
        for word, match in found
        if not word.unknown or word.unknown == (word.text,)
    )
