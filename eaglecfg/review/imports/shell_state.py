"""Variables of a script as far as reading it tells, and words expanded with them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from eaglecfg.errors import UsageError
from eaglecfg.record import record
from eaglecfg.review.imports.arithmetic import calculated
from eaglecfg.review.imports.outer import Outer
from eaglecfg.review.imports.shell_tokens import Part, Token, Tokens
from eaglecfg.review.imports.text import EMPTY, Text, joined, not_known, spelled

_PARAMETER = re.compile(r"([A-Za-z_][A-Za-z0-9_]*|[@*#?$!0-9-])(\[[@*]\])?(?:(:?[-=?+])(.*))?\Z", re.S)
_FROM_ARGUMENT = re.compile(r"@:([1-9]\d?)\Z")
_BRACES = re.compile(r"\{[^{}\s]*(?:,|\.\.)[^{}\s]*\}")
_PATTERN = re.compile(r"[*?]|\[[^\]\s]*\]")
_ARITHMETIC = re.compile(r"\$\(\((.*)\)\)\Z", re.S)
CHANGED = re.compile(r"([A-Za-z_]\w*)\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))|(?:\+\+|--)\s*([A-Za-z_]\w*)")
"""Arithmetic that changes a variable."""

_ELEMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\[")
_STANDS_FOR = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*(?:\+=\.\.\.)?\}")
_LIST_OF_ALL = ("@", "*")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=(.*)\Z", re.S)
_SPLIT = re.compile(r"[ \t\n]+")
MOST_TEXT = 4 * 1024 * 1024
"""Characters that expansion may make of one script; doubled variables grow without end."""

MOST_COMMANDS = 20_000
"""Commands of one script, those of functions once for each call."""

MOST_PATTERN = 1000
"""Letters of a word in which patterns are looked for."""

Value = Text | tuple[Text, ...]


@record
class Default:
    """A default that stood in for a variable. ``unread`` names what may set that variable and is not read."""

    text: str
    unread: str


@dataclass(slots=True)
class State:
    """What is known at one point of a script. ``given`` are its own arguments, None where not known."""

    variables: dict[str, Value] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)
    given: tuple[Text, ...] | None = None
    all_exported: bool = False
    spent: list[int] = field(default_factory=lambda: [0])
    steps: list[int] = field(default_factory=lambda: [0])
    defaults: dict[str, Default] = field(default_factory=dict)
    """Variables that stood in for nothing with a default of the script's own, and that default."""

    unset: set[str] = field(default_factory=set)
    """Variables that the script has taken away, or declared and given no value."""

    maybe: set[str] = field(default_factory=set)
    """Variables that are exported, or have their value, under a condition."""

    unread: str = ""
    """What may have set further variables by now, and is not read."""

    outer: Outer = field(default_factory=Outer)
    """What whoever hands the script over puts into its text, and is not known here."""

    def copy(self) -> State:
        return State(
            dict(self.variables),
            set(self.exported),
            self.given,
            self.all_exported,
            self.spent,
            self.steps,
            self.defaults,
            set(self.unset),
            set(self.maybe),
            self.unread,
            self.outer,
        )

    def reads(self, file: str) -> None:
        """What ``source`` of a file that nobody reads here does: it may set any variable."""
        self.unread = f"{self.unread}, {file}" if self.unread and self.unread != file else file
        self.unset.clear()

    def remove(self, name: str) -> None:
        """What ``unset`` does."""
        self.variables.pop(name, None)
        self.exported.discard(name)
        self.maybe.discard(name)
        self.unset.add(name)

    def export(self, name: str) -> None:
        self.exported.add(name)
        if name not in self.variables and name not in self.unset:
            self.variables[name] = not_known(name)

    def assign(self, name: str, value: Value, *, more: bool = False) -> None:
        self.maybe.discard(name)
        self.unset.discard(name)
        old = self.variables.get(name)
        if more and old is not None:
            if isinstance(old, tuple):
                value = (*old, *(value if isinstance(value, tuple) else (value,)))
            elif isinstance(value, Text):
                value = old + value
        self.spend(sum(len(one.text) for one in value) if isinstance(value, tuple) else len(value.text))
        self.variables[name] = value
        if self.all_exported and name.isidentifier():
            self.exported.add(name)

    def spend(self, characters: int) -> None:
        self.spent[0] += characters
        if self.spent[0] > MOST_TEXT:
            raise UsageError(
                f"the script's variables grow beyond {MOST_TEXT:,} characters; they are not followed"
            )

    def number(self, name: str) -> str | None:
        """The variable's text where all of it is known, for arithmetic."""
        value = self.variables.get(name)
        return value.text if isinstance(value, Text) and not value.unknown else None

    def step(self) -> None:
        """Count one command, so that functions that call each other end."""
        self.steps[0] += 1
        if self.steps[0] > MOST_COMMANDS:
            raise UsageError(
                f"more than {MOST_COMMANDS:,} commands; name the script that launches the server"
            )

    def environment(self) -> dict[str, Text]:
        """What a command started now finds in its environment, as far as the script decides it."""
        out = {}
        for name in sorted(self.exported):
            value = self.variables.get(name)
            if name in self.maybe:
                out[name] = Text(f"${{{name}}}", (f"the condition under which {name} is set",))
            elif isinstance(value, Text):
                out[name] = value
        return out


def assignment(token: Token) -> tuple[str, bool, Token] | None:
    """(name, added to, value) where ``token`` is an assignment."""
    first = token.parts[0] if token.parts else None
    if first is None or first.kind != "text" or first.quoted:
        return None
    found = _ASSIGNMENT.match(first.text)
    if found is None:
        return None
    rest = [Part("text", found[3])] if found[3] else []
    value = Token(token.line, [*_with_tilde(rest), *token.parts[1:]], items=token.items)
    return found[1], bool(found[2]), value


def element(token: Token) -> str:
    """The name of the array of which ``token`` assigns one element, else empty."""
    first = token.parts[0] if token.parts else None
    found = _ELEMENT.match(first.text) if first is not None and first.kind == "text" else None
    return found[1] if found and any("]=" in part.text or "]+=" in part.text for part in token.parts) else ""


def _with_tilde(parts: list[Part]) -> list[Part]:
    if parts and (parts[0].text == "~" or parts[0].text.startswith("~/")):
        rest = parts[0].text[1:]
        return [Part("tilde", "~"), *([Part("text", rest)] if rest else [])]
    return parts


def expand_all(tokens: Sequence[Token], state: State) -> list[Text]:
    """The fields that the words come to."""
    return [one for token in tokens for one in expand(token, state)]


def expand(token: Token, state: State) -> list[Text]:
    """The fields that one word comes to: none, one, or several where an unquoted value has spaces."""
    fields: list[Text] = []
    current: list[Text] = []
    vanished = False
    for part in token.parts:
        pieces = _pieces(part, state)
        vanished = vanished or (part.quoted and not pieces)  # "$@" of no words is no word
        for piece, breaks in pieces:
            if breaks and current:
                fields.append(joined(current))
                current = []
            if piece is not None:
                current.append(piece)
    if current:
        fields.append(joined(current))
    if vanished and fields == [EMPTY]:
        return []
    state.spend(sum(len(one.text) for one in fields))
    return [spelled(one.text) if not one.unknown else one for one in fields] if _spreads(token) else fields


def _spreads(token: Token) -> bool:
    """Whether a shell makes more of the word than it says: ``{a,b}``, ``{1..4}``, ``*`` and the like."""
    if not any(part.kind == "text" and not part.quoted for part in token.parts):
        return False
    plain = "".join(part.text if part.kind == "text" and not part.quoted else "\0" for part in token.parts)
    if not 1 < len(plain) <= MOST_PATTERN:
        return False
    return bool(_BRACES.search(plain) or _PATTERN.search(plain))


def expand_whole(token: Token, state: State) -> Text:
    """The word as one text, as in an assignment."""
    values = [_value(part, state) for part in token.parts]
    out = joined([joined(value, " ") if isinstance(value, tuple) else value for value in values])
    state.spend(len(out.text))
    return out


def _pieces(part: Part, state: State) -> list[tuple[Text | None, bool]]:
    """(text, a new field begins before it) of one part; text None only ends what stood before."""
    value = _value(part, state)
    if isinstance(value, tuple):
        if part.quoted and part.text.rstrip("]").endswith("*"):
            return [(joined(value, " "), False)]
        return [(one, index > 0) for index, one in enumerate(value)]
    if part.kind != "variable" or part.quoted or not _splits(value):
        return [(value, False)] if value.text or part.quoted else []
    separators = state.variables.get("IFS")
    if separators is not None and value.text != "":
        return [(spelled(value.text), False)]  # what it is split at is not followed
    words = _SPLIT.split(value.text)
    out: list[tuple[Text | None, bool]] = [
        (
            Text(
                word, tuple(name for name in value.unknown if f"${{{name}}}" in word or name in word.split())
            ),
            index > 0,
        )
        for index, word in enumerate(words)
        if word
    ]
    if len(words) > 1 and not words[-1]:
        out.append((None, True))
    return out


def _splits(value: Text) -> bool:
    """Whether every part that is not known stands in the text as one word, so that the rest can be split."""
    return all(
        _STANDS_FOR.fullmatch(f"${{{name}}}") and f"${{{name}}}" in value.text for name in value.unknown
    )


def _value(part: Part, state: State) -> Value:
    if part.kind == "text":
        return state.outer.filled(part.text)
    if part.kind in ("command", "arithmetic"):
        inside = _ARITHMETIC.match(part.text)
        result = calculated(inside[1], state.number) if inside else None
        return Text(str(result)) if result is not None else spelled(state.outer.shown(part.text))
    if part.kind == "tilde":
        return Text(part.text, ("HOME" if part.text == "~" else part.text,))
    if (later := _FROM_ARGUMENT.match(part.text)) and state.given is not None:
        return state.given[int(later[1]) - 1 :]
    found = _PARAMETER.match(part.text)
    if found is None:
        return spelled(state.outer.shown(f"${{{part.text}}}"))
    name, whole, operator, word = found[1], bool(found[2]), found[3] or "", found[4] or ""
    value = _lookup(name, state, whole=whole)
    if value is None and name in state.unset:
        value = EMPTY
    if not operator:
        return value if value is not None else not_known(name)
    return _with_operator(part, name, value, operator, word, state)


def _lookup(name: str, state: State, *, whole: bool) -> Value | None:
    if name in _LIST_OF_ALL:
        return state.given
    if name.isdigit() and name != "0":
        number = int(name)
        if state.given is None:
            return None
        return state.given[number - 1] if number <= len(state.given) else EMPTY
    value = state.variables.get(name)
    if isinstance(value, tuple) and not whole:
        return value[0] if value else EMPTY
    return value


def _with_operator(
    part: Part, name: str, value: Value | None, operator: str, word: str, state: State
) -> Value:
    """``${NAME:-word}`` and its like. ``value`` None: nothing tells whether there is one."""
    gone = name in state.unset and name not in state.variables
    uncertain = isinstance(value, Text) and bool(value.unknown)
    empty = gone or (isinstance(value, Text) and not value.text and operator.startswith(":"))
    if operator.endswith("+"):
        if value is None or uncertain or name in state.maybe:
            return spelled(state.outer.shown(f"${{{part.text}}}"))
        return EMPTY if empty else _inner(word, state)
    if value is not None and not empty:
        return value
    if operator.endswith("?"):
        return not_known(name)
    default = _inner(word, state)
    if value is None:
        state.defaults[name] = Default(default.text, state.unread)
        if not default.text:  # ${HF_TOKEN:-} keeps set -u content, and says nothing about the value
            default = not_known(name)
    if operator.endswith("="):
        state.assign(name, default)
    return default


def _inner(word: str, state: State) -> Text:
    """The word behind an operator of ``${...}``."""
    out = EMPTY
    reader = Tokens(word, depth=1)
    while (token := reader.next()) is not None:
        if token.operator:
            return spelled(state.outer.shown(word))
        out = (out + Text(" ") if out.text else out) + expand_whole(token, state)
    return out
