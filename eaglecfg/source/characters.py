"""Checks on a file's bytes and characters before YAML is read: what editors and parsers see differently."""

from __future__ import annotations

import re

from eaglecfg.source.document import Problem
from eaglecfg.source.limits import MAX_BYTES
from eaglecfg.source.span import Position, Span

_BOMS = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)
# What libyaml refuses, and the line breaks that only some programs count as such. Compiling a class of
# wide characters takes milliseconds, so that is left to files that have any.
_CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
_WIDE_CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]"
_SEPARATOR = r"[\x85\u2028\u2029]"
_LONE_RETURN = re.compile("\r(?!\n)")
_CONFLICT = re.compile(r"^(?:<{7} .*|={7}|>{7} .*|\|{7} .*)\r?$", re.MULTILINE)
_VALUE_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def encoding_of(raw: bytes) -> str | None:
    """UTF-16 or UTF-32 where ``raw`` begins like that, else None."""
    for mark, name in _BOMS:
        if raw.startswith(mark):
            return name
    # ASCII text in UTF-16 has a zero in every second byte.
    half = max(2, len(raw) // 4)
    return "UTF-16" if raw[0::2].count(0) > half or raw[1::2].count(0) > half else None


def decode(raw: bytes) -> tuple[str, tuple[Problem, ...]]:
    """The text of ``raw`` without a byte-order mark, and what is wrong with its encoding.

    Bytes that are not UTF-8 become U+FFFD, so that the text can be shown; the problem then is ``not-utf8``.
    """
    problems: list[Problem] = []
    if raw.startswith(b"\xef\xbb\xbf"):
        raw = raw[3:]
        problems.append(
            Problem(
                "byte-order-mark",
                "the file begins with a byte-order mark, which some readers take for part of the first key",
                at(1, 1),
                "save the file as UTF-8 without a byte-order mark",
            )
        )
    try:
        return raw.decode("utf-8"), tuple(problems)
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8")
        line = before.count("\n") + 1
        column = len(before) - (before.rfind("\n") + 1) + 1
        problems.append(
            Problem(
                "not-utf8",
                f"UTF-8 is expected, but byte {error.start} (0x{raw[error.start]:02x}) is not part of it",
                at(line, column),
                "save the file as UTF-8",
            )
        )
        return raw.decode("utf-8", "replace"), tuple(problems)


def too_large() -> Problem:
    """The problem of a file beyond the size limit."""
    return Problem(
        "too-large",
        f"a file of at most {MAX_BYTES // 1024:,} KiB is expected, this one is larger",
        at(1, 1),
        "name the eaglecfg.yaml itself; split a config of this size into several files",
    )


def unreadable_characters(text: str) -> Problem | None:
    """The first thing in ``text`` that YAML readers disagree about or refuse, or None."""
    if found := re.search(_CONTROL if text.isascii() else _WIDE_CONTROL, text):
        name = "a NUL character" if found[0] == "\0" else f"the control character U+{ord(found[0]):04X}"
        return Problem("control-character", f"{name} stands in the text", _span(text, found), "remove it")
    if not text.isascii() and (found := re.search(_SEPARATOR, text)):
        return Problem(
            "line-separator",
            f"U+{ord(found[0]):04X} is a line break for some programs only, so line numbers would differ",
            _span(text, found),
            "replace it by a space or by a plain line break",
        )
    if found := _LONE_RETURN.search(text):
        return Problem(
            "carriage-return",
            "a carriage return without a line feed is a line break for some programs only",
            _span(text, found),
            "save the file with Unix (LF) or Windows (CR LF) line ends",
        )
    if found := _CONFLICT.search(text):
        return Problem(
            "conflict-marker",
            f"an unresolved merge conflict: the line begins with {found[0][:7]}",
            _span(text, found),
            "resolve the conflict and remove the marker lines",
        )
    return None


def control_in_value(value: str) -> str | None:
    """The first control character that an escape put into ``value`` (tab and line feed are fine), or None."""
    found = _VALUE_CONTROL.search(value)
    return found[0] if found else None


def at(line: int, column: int, width: int = 1) -> Span:
    """A span of ``width`` characters within one line."""
    return Span(Position(line, column), Position(line, column + width))


def _span(text: str, found: re.Match[str]) -> Span:
    line_start = text.rfind("\n", 0, found.start()) + 1
    width = len(found[0].rstrip("\r")) or 1
    return at(text.count("\n", 0, found.start()) + 1, found.start() - line_start + 1, width)
