"""The comment at the top of every rendering: what it is of, which ``eaglecfg import`` reads back."""

from __future__ import annotations

import json
import re

from eaglecfg.record import record
from eaglecfg.review.render.launch import Launch


@record
class Origin:
    """The deployment that a rendering is of, and its engine."""

    deployment: str
    engine: str
    version: str


_LINE = re.compile(
    r'^# deployment: ("(?:[^"\\]|\\.){0,2000}"), engine: (\S{1,40}) ("(?:[^"\\]|\\.){0,200}")$', re.M
)


def header(launch: Launch) -> list[str]:
    """Comment lines."""
    # In ASCII: some letters end a line, and with it the comment.
    name, version = json.dumps(launch.name), json.dumps(launch.engine.version)
    config = shown(launch.config)
    return [
        f"# Written by eaglecfg render: change {config} and render again rather than editing this.",
        f"# deployment: {name}, engine: {launch.engine.name} {version}",
    ]


def shown(config: str) -> str:
    """The name of the config's file in a comment, which nothing in it may end."""
    return "".join(letter if letter.isprintable() and letter.isascii() else "?" for letter in config)


def origin_of(text: str) -> Origin | None:
    """What the header in ``text`` says, None where there is none."""
    found = _LINE.search(text)
    if found is None:
        return None
    try:
        return Origin(json.loads(found[1]), found[2], json.loads(found[3]))
    except ValueError:
        return None
