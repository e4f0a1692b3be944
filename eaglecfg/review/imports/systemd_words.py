"""The words of a unit's settings, split and expanded as systemd.syntax(7) and systemd.service(5) say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from eaglecfg.errors import UsageError
from eaglecfg.review.imports.text import Text, joined, not_known, spelled

_ESCAPES = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "s": " ",
    "\\": "\\", '"': '"', "'": "'",
}  # fmt: skip
_CODE = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})")
_PLAIN = re.compile(r"[^\s'\"\\]+")
_BRACED = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\$")
_NAME = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_SPECIFIER = re.compile(r"%(.)", re.S)
_FLAGS = "@-:+!|"


def words_of(value: str, line: int, *, escapes: bool = True) -> list[str | None]:
    """The words of a value, None for a ``;`` that stands alone and ends a command.

    Quotes may stand anywhere in a word, and escapes mean the same inside of them. Raises UsageError, with the
    line, for a quote that is never closed: systemd refuses the setting.
    """
    out: list[str | None] = []
    word: list[str] = []
    begun, quote, at = False, "", 0
    while at < len(value):
        letter = value[at]
        if escapes and letter == "\\" and at + 1 < len(value):
            text, at = _escaped(value, at + 1)
            word.append(text)
            begun = True
            continue
        if letter == quote:
            quote = ""
        elif quote:
            word.append(letter)
        elif letter in "'\"":
            quote, begun = letter, True
        elif letter.isspace():
            if begun:
                out.append("".join(word))
            word, begun = [], False
        elif not begun and re.match(r";(?=\s|\Z)", value[at : at + 2]):
            out.append(None)
        else:
            run = _PLAIN.match(value, at)
            word.append(run[0] if run else letter)
            at = run.end() - 1 if run else at
            begun = True
        at += 1
    if quote:
        what = "a single quote" if quote == "'" else "a double quote"
        raise UsageError(f"line {line}: {what} is opened and never closed")
    return [*out, "".join(word)] if begun else out


def _escaped(value: str, at: int) -> tuple[str, int]:
    """What the escape whose letter is at ``at`` stands for, and where to go on."""
    code = _CODE.match(value, at)
    if code:
        digits = code[1] or code[2] or code[3]
        number = int(digits, 16) if digits else int(code[4], 8)
        return (chr(number) if number <= 0x10FFFF else ""), code.end()
    letter = value[at]
    return _ESCAPES.get(letter, letter if letter == ";" else f"\\{letter}"), at + 1


def commands_of(value: str, line: int, environment: Mapping[str, Text]) -> Iterator[list[Text]]:
    """The commands of an ``ExecStart=``, each with its words as the program gets them."""
    words: list[str] = []
    for word in (*words_of(value, line), None):
        if word is not None:
            words.append(word)
            continue
        if words:
            flags = words[0][: len(words[0]) - len(words[0].lstrip(_FLAGS))]
            words[0] = words[0][len(flags) :]
            words = [each for each in words if each] if not words[0] else words
            if "@" in flags:
                del words[1:2]  # what the program is to believe that it is called
            plain = ":" in flags
            yield [
                one for each in words for one in _expanded(each, {} if plain else environment, plain, line)
            ]
        words = []


def _expanded(word: str, environment: Mapping[str, Text], plain: bool, line: int) -> list[Text]:
    """What one word comes to. ``plain``: variables mean nothing."""
    if plain:
        return [specified(word)]
    if word[:1] == "$" and word[1:2] not in ("{", "$"):
        # The whole word is the name, so that $NAME/x is none: the value is split at its spaces.
        alone = _NAME.fullmatch(word)
        if alone is None:
            return [spelled(word)]
        known = environment.get(alone[1], not_known(alone[1]))
        if known.unknown:
            return [known]
        return [Text(each) for each in words_of(known.text, line, escapes=False) if each is not None]
    pieces, at = [], 0
    for found in _BRACED.finditer(word):
        pieces.append(specified(word[at : found.start()]))
        pieces.append(environment.get(found[1], not_known(found[1])) if found[1] else Text("$"))
        at = found.end()
    return [joined([*pieces, specified(word[at:])])]


def specified(text: str) -> Text:
    """``text`` with its ``%`` specifiers, which only systemd can tell."""
    pieces, at = [], 0
    for found in _SPECIFIER.finditer(text):
        pieces += [Text(text[at : found.start()]), Text("%") if found[1] == "%" else spelled(found[0])]
        at = found.end()
    return joined([*pieces, Text(text[at:])])
