"""Variables of a script as far as reading it tells, and words expanded with them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from eaglecfg.errors import UsageError
from eaglecfg.review.imports.shell_tokens import Part, Token, Tokens
from eaglecfg.review.imports.text import EMPTY, Text, joined, not_known, spelled

_PARAMETER = re.compile(r"([A-Za-z_][A-Za-z0-9_]*|[@*#?$!0-9-])(\[[@*]\])?(?:(:?[-=?+])(.*))?\Z", re.S)
_LIST_OF_ALL = ("@", "*")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=(.*)\Z", re.S)
_SPLIT = re.compile(r"[ \t\n]+")
MOST_TEXT = 4 * 1024 * 1024
"""Characters that expansion may make of one script; doubled variables grow without end."""

MOST_COMMANDS = 20_000
"""Commands of one script, those of functions once for each call."""

Value = Text | tuple[Text, ...]


@dataclass(slots=True)
class State:
    """What is known at one point of a script. ``given`` are its own arguments, None where not known."""

    variables: dict[str, Value] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)
    given: tuple[Text, ...] | None = None
    all_exported: bool = False
    spent: list[int] = field(default_factory=lambda: [0])
    steps: list[int] = field(default_factory=lambda: [0])
    defaults: dict[str, str] = field(default_factory=dict)
    """Variables that stood in for nothing with a default of the script's own, and that default."""

    def copy(self) -> State:
        return State(
            dict(self.variables),
            set(self.exported),
            self.given,
            self.all_exported,
            self.spent,
            self.steps,
            self.defaults,
        )

    def assign(self, name: str, value: Value, *, more: bool = False) -> None:
        old = self.variables.get(name)
        if more and old is not None:
            if isinstance(old, tuple):
                value = (*old, *(value if isinstance(value, tuple) else (value,)))
            elif isinstance(value, Text):
                value = old + value
        self.spend(sum(len(one.text) for one in value) if isinstance(value, tuple) else len(value.text))
        self.variables[name] = value
        if self.all_exported:
            self.exported.add(name)

    def spend(self, characters: int) -> None:
        self.spent[0] += characters
        if self.spent[0] > MOST_TEXT:
            raise UsageError(
                f"the script's variables grow beyond {MOST_TEXT:,} characters; they are not followed"
            )

    def step(self) -> None:
        """Count one command, so that functions that call each other end."""
        self.steps[0] += 1
        if self.steps[0] > MOST_COMMANDS:
            raise UsageError(
                f"more than {MOST_COMMANDS:,} commands; name the script that launches the server"
            )

    def environment(self) -> dict[str, Text]:
        """What a command started now finds in its environment, as far as the script decides it."""
        return {
            name: value
            for name in sorted(self.exported)
            if isinstance(value := self.variables.get(name), Text)
        }


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
    for part in token.parts:
        for piece, breaks in _pieces(part, state):
            if breaks and current:
                fields.append(joined(current))
                current = []
            if piece is not None:
                current.append(piece)
    if current:
        fields.append(joined(current))
    state.spend(sum(len(one.text) for one in fields))
    return fields


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
    if part.kind != "variable" or part.quoted or value.unknown:
        return [(value, False)] if value.text or part.quoted else []
    words = _SPLIT.split(value.text)
    out: list[tuple[Text | None, bool]] = [
        (Text(word), index > 0) for index, word in enumerate(words) if word
    ]
    if len(words) > 1 and not words[-1]:
        out.append((None, True))
    return out


def _value(part: Part, state: State) -> Value:
    if part.kind == "text":
        return Text(part.text)
    if part.kind == "command":
        return spelled(part.text)
    if part.kind == "tilde":
        return Text(part.text, ("HOME" if part.text == "~" else part.text,))
    found = _PARAMETER.match(part.text)
    if found is None:
        return spelled(f"${{{part.text}}}")
    name, whole, operator, word = found[1], bool(found[2]), found[3] or "", found[4] or ""
    value = _lookup(name, state, whole=whole)
    if not operator:
        return value if value is not None else not_known(name)
    return _with_operator(name, value, operator, word, state)


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


def _with_operator(name: str, value: Value | None, operator: str, word: str, state: State) -> Value:
    empty = isinstance(value, Text) and not value.text
    usable = value is not None and not (empty and operator.startswith(":"))
    if operator.endswith("+"):
        return _inner(word, state) if usable else EMPTY
    if value is not None and usable:
        return value
    if operator.endswith("?"):
        return not_known(name)
    default = _inner(word, state)
    if value is None:
        state.defaults[name] = default.text
    if operator.endswith("="):
        state.assign(name, default)
    return default


def _inner(word: str, state: State) -> Text:
    """The word behind an operator of ``${...}``."""
    out = EMPTY
    reader = Tokens(word, depth=1)
    while (token := reader.next()) is not None:
        if token.operator:
            return spelled(word)
        out = (out + Text(" ") if out.text else out) + expand_whole(token, state)
    return out
