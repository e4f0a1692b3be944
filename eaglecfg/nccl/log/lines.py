"""Finds NCCL's messages in whatever wraps them: rank prefixes, time stamps, colours, JSON, other output."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

LONGEST = 1 << 16
"""Bytes of a line that are looked at. NCCL's own longest is 1 KiB and a table of 2 KiB."""
LONGEST_TEXT = 4096
"""Characters of one message; NCCL cuts its own at 1 KiB."""
HEAD_ROOM = 400
"""How far before ``NCCL INFO`` its head may begin; bounds the search in lines that are none of NCCL's."""

_MARK = re.compile(r"NCCL (INFO|WARN|TRACE|CALL|ABORT) ?")
_HEAD = re.compile(
    r"(?P<host>[^\s:\[\]()<>|\"'{}=,]+):(?P<pid>\d{1,10}):(?P<tid>\d{1,10}) "
    r"(?:\[(?P<device>-?\d{1,6})\] )?(?:[0-9.]+ )?(?:(?P<where>[^\s:]+:\d+) (?:\([^)]*\) )?)?$"
)
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_JSON_TAIL = re.compile(r"(?:\\r)?\\n\"(?:,\".*)?\}?$")


class Message(NamedTuple):
    """One message. ``where`` is NCCL's file and line, given with warnings. ``device`` is the CUDA device of
    the thread, ``tid`` the thread."""

    host: str
    pid: int
    tid: int
    device: int
    level: str
    where: str
    text: str


def raw_lines(stream: BinaryIO) -> Iterator[bytes]:
    """Lines without their ends, one at a time; of a longer line only the first part."""
    while line := stream.readline(LONGEST):
        whole = line.endswith(b"\n")
        yield line.rstrip(b"\r\n")
        while not whole:
            rest = stream.readline(LONGEST)
            whole = not rest or rest.endswith(b"\n")


def plain_text(raw: bytes) -> str:
    """The text of a line: Docker's JSON unwrapped, colours out."""
    text = raw.decode("utf-8", errors="replace")
    if text.startswith('{"log":'):
        try:
            text = str(json.loads(text)["log"])
        except (ValueError, RecursionError):
            text = _JSON_TAIL.sub("", text)
    if "\x1b" in text:
        text = _COLOURS.sub("", text)
    return text.rstrip("\r\n")


def messages(text: str) -> Iterator[Message]:
    """NCCL's messages in one line: several where processes wrote into each other's lines."""
    if "NCCL " not in text:
        return
    heads: list[tuple[re.Match[str], re.Match[str]]] = []
    ended = 0
    for mark in _MARK.finditer(text):
        head = _HEAD.search(text[max(ended, mark.start() - HEAD_ROOM) : mark.start()])
        ended = mark.end()
        if head is not None:
            heads.append((head, mark))
    for index, (head, mark) in enumerate(heads):
        end = len(text)
        if index + 1 < len(heads):
            later, its_mark = heads[index + 1]
            end = its_mark.start() - (later.end() - later.start())
        yield Message(
            head["host"],
            int(head["pid"]),
            int(head["tid"]),
            int(head["device"] or -1),
            mark[1],
            head["where"] or "",
            text[mark.end() : min(end, mark.end() + LONGEST_TEXT)].rstrip(),
        )


def mentions(text: str) -> bool:
    """Whether a line without a whole message holds a piece of one: it was cut."""
    return _MARK.search(text) is not None
