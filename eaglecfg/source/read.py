"""Files and text to documents. What a user wrote never raises here; it becomes a problem of the document."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from eaglecfg.errors import ConfigUnreadable
from eaglecfg.source.build import Builder
from eaglecfg.source.characters import at, decode, encoding_of, too_large, unreadable_characters
from eaglecfg.source.document import Document, Problem
from eaglecfg.source.limits import MAX_BYTES
from eaglecfg.source.nodes import NodeReader, Stopped


def read_document(path: Path, shown: str | None = None) -> Document:
    """The document in the file ``path``, named ``shown`` in messages.

    Raises ConfigUnreadable where the file cannot be opened or is no UTF-8 text at all. Text that does not
    parse gives a document whose ``data`` is None and whose ``problems`` say why.
    """
    name = str(path) if shown is None else shown
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
            plain = stat.S_IFMT(os.fstat(file.fileno()).st_mode) in (stat.S_IFREG, stat.S_IFIFO)
    except FileNotFoundError:
        raise ConfigUnreadable(f"{name}: a file is expected, but there is none; check the path") from None
    except IsADirectoryError:
        raise ConfigUnreadable(f"{name}: a file is expected, this is a folder; name the file in it") from None
    except PermissionError:
        raise ConfigUnreadable(f"{name}: this user may not read the file; check its permissions") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigUnreadable(f"{name}: the file cannot be read ({reason})") from None
    if not plain and (b"\0" in raw or len(raw) > MAX_BYTES):
        raise ConfigUnreadable(f"{name}: a text file is expected, this is not a regular text file")
    return read_bytes(raw, name, str(path.absolute().parent))


def read_bytes(raw: bytes, name: str, folder: str) -> Document:
    """The document in ``raw``, of which one byte more than the limit is enough.

    Raises ConfigUnreadable as ``read_document`` does.
    """
    if (encoding := encoding_of(raw)) is not None:
        raise ConfigUnreadable(f"{name}: UTF-8 is expected, this looks like {encoding}; save it as UTF-8")
    if len(raw) > MAX_BYTES:
        return Document(name, folder, "", None, {}, (too_large(),))
    text, problems = decode(raw)
    if any(problem.kind == "not-utf8" for problem in problems):
        return Document(name, folder, text, None, {}, problems, split_lines(text))
    return _parse(text, name, folder, problems)


def parse_document(text: str, name: str, folder: str) -> Document:
    """The document in ``text``; paths in it resolve against ``folder``."""
    if len(text) > MAX_BYTES:
        return Document(name, folder, "", None, {}, (too_large(),))
    if text.startswith("\ufeff"):
        return _parse(text[1:], name, folder, decode(b"\xef\xbb\xbf")[1])
    return _parse(text, name, folder, ())


def split_lines(text: str) -> tuple[str, ...]:
    """The lines of ``text`` as the parser counts them, without their line breaks."""
    return tuple(line.removesuffix("\r") for line in text.split("\n"))


def _parse(text: str, name: str, folder: str, problems: tuple[Problem, ...]) -> Document:
    lines = split_lines(text)
    if (unreadable := unreadable_characters(text)) is not None:
        return Document(name, folder, text, None, {}, (*problems, unreadable), lines)
    reader = NodeReader(text, lines)
    builder = Builder(text, lines)
    try:
        root = reader.read()
        if root is None:
            empty = Problem("empty-file", "the file is empty", at(1, 1), "write a config into it")
            return Document(name, folder, text, None, {}, (*problems, empty), lines)
        data, places = builder.build(root), builder.places
        stop: tuple[Problem, ...] = ()
    except Stopped as stopped:
        data, places, stop = None, {}, (stopped.problem,)
    found = sorted((*reader.problems, *builder.problems, *stop), key=lambda problem: problem.span.start)
    return Document(name, folder, text, data, places, (*problems, *found), lines)
