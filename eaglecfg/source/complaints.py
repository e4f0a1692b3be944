"""What a YAML parser could not read, in the words of the user's text rather than of the parser."""

from __future__ import annotations

from typing import Any

import yaml

from eaglecfg.source.document import Problem
from eaglecfg.source.limits import MAX_DEPTH, SHOWN_CHARACTERS
from eaglecfg.source.span import Position, Span

# A fragment of the parser's phrase (libyaml's, then the pure parser's) -> message, help.
# ``{context}`` is the place where the construct began.
_PHRASES: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (
        ("mapping values are not allowed", "mapping keys are not allowed"),
        'a ":" stands where no key can start',
        'indent the line like its siblings; put text that holds ": " in quotes',
    ),
    (
        ("did not find expected ',' or ']'", "expected ',' or ']'"),
        'the list that begins at {context} is not closed: "," or "]" is expected here',
        'close the list with "]"',
    ),
    (
        ("did not find expected ',' or '}'", "expected ',' or '}'"),
        'the mapping that begins at {context} is not closed: "," or "}}" is expected here',
        'close the mapping with "}"',
    ),
    (
        ("found unknown escape character",),
        "a backslash in double quotes begins an escape, and this one does not exist",
        "write the text in single quotes, or double the backslash",
    ),
    (
        ("unexpected end of stream",),
        "the text that begins at {context} has no closing quote",
        "close the quote",
    ),
    (
        ("did not find expected key", "expected <block end>"),
        "this does not fit the block that begins at {context}",
        "compare its indentation with the lines above, and look for an unclosed quote",
    ),
    (
        ("did not find expected '-' indicator",),
        'a list item that begins with "-" is expected here, in the list that begins at {context}',
        "indent the line like its siblings",
    ),
    (
        ("block sequence entries are not allowed", "sequence entries are not allowed"),
        'a list item that begins with "-" cannot stand here',
        "put the list on a line of its own, below its key",
    ),
    (
        ("did not find expected node content", "expected the node content"),
        "a value is expected here, and none follows",
        "look for a bracket that is not closed, or for a comma too many",
    ),
    (
        ("unexpected document indicator",),
        "the text that begins at {context} has no closing quote before the document ends",
        "close the quote",
    ),
    (
        ("Unicode character escape", "hexdecimal", "hexadecimal"),
        "a backslash in double quotes begins an escape, and its number names no character",
        "write the character itself, or the text in single quotes",
    ),
    (
        ("could not find expected ':'",),
        'a key without ":" is written here',
        'write "key: value"',
    ),
    (
        ("did not find expected <document start>", "expected '<document start>'"),
        "this stands outside the document, which ended above",
        "indent the line like its siblings",
    ),
    (
        ("did not find expected alphabetic or numeric character", "expected alphabetic or numeric character"),
        "text that begins with & or * names an anchor, and no name follows",
        "put the text in quotes",
    ),
    (
        ("did not find expected comment or line break", "expected a comment or a line break"),
        "after | or > the line must end",
        "put the text on the lines below, indented",
    ),
)


def complaint(error: yaml.YAMLError, lines: tuple[str, ...]) -> Problem:
    """The problem behind a parser's error, at the place where the user has to look."""
    mark: Any = getattr(error, "problem_mark", None)
    context: Any = getattr(error, "context_mark", None)
    phrase = str(getattr(error, "problem", None) or error)
    line, column = (mark.line, mark.column) if mark is not None else (0, 0)
    if (tab := _tab_indent((context.line, line) if context is not None else (line,), lines)) is not None:
        return Problem(
            "tab-indent",
            "the line is indented with a tab, but YAML takes only spaces there",
            _mark(tab, lines[tab].index("\t"), lines),
            "replace the tab by spaces",
        )
    if "nesting depth" in phrase:
        message = f"at most {MAX_DEPTH} levels of nesting are expected, this goes deeper"
        return Problem("too-deep", message, _mark(line, column, lines), "look for an unclosed bracket above")
    if "tab character" in phrase:
        message = "a tab stands where YAML takes only spaces"
        return Problem("tab-indent", message, _mark(line, column, lines), "replace the tab by spaces")
    if "directive" in phrase or "tag handle" in phrase or "incompatible YAML document" in phrase:
        message = "YAML directives and tags are not taken: the file is plain YAML 1.2"
        return Problem("directive", message, _mark(line, column, lines), "remove it")
    if "cannot start any token" in phrase:
        return _cannot_start(line, column, lines)
    if "end of stream" in phrase and context is not None:
        line, column = context.line, context.column
    began = f"line {context.line + 1}, column {context.column + 1}" if context else "an earlier line"
    span = _mark(line, column, lines)
    for fragments, message, help in _PHRASES:
        if any(fragment in phrase for fragment in fragments):
            return Problem("syntax", message.format(context=began), span, help)
    message = f"this is not YAML: {phrase[:SHOWN_CHARACTERS]}"
    return Problem("syntax", message, span, "compare it with the lines above")


def _cannot_start(line: int, column: int, lines: tuple[str, ...]) -> Problem:
    text = lines[line] if line < len(lines) else ""
    character = text[column : column + 1]
    if character == "\t":
        message, help = "a tab stands where YAML takes only spaces", "replace the tab by spaces"
        return Problem("tab-indent", message, _mark(line, column, lines), help)
    message = f"text cannot begin with {character} unless it is in quotes"
    return Problem("syntax", message, _mark(line, column, lines), "put the text in quotes")


def _tab_indent(candidates: tuple[int, ...], lines: tuple[str, ...]) -> int | None:
    for line in dict.fromkeys(reversed(candidates)):
        if line < len(lines):
            text = lines[line]
            if "\t" in text[: len(text) - len(text.lstrip())]:
                return line
    return None


def _mark(line: int, column: int, lines: tuple[str, ...]) -> Span:
    # The end of the stream lies below the last line; show the last line that has something.
    while line > 0 and (line >= len(lines) or not lines[line].strip()):
        line -= 1
        column = len(lines[line]) if line < len(lines) else 0
    return Span(Position(line + 1, column + 1), Position(line + 1, column + 2))
