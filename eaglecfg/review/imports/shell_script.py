"""A script followed from top to bottom: every command with the words and the environment it would get."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from eaglecfg.errors import UsageError
from eaglecfg.record import record
from eaglecfg.review.imports.shell_state import State, assignment, expand, expand_all, expand_whole
from eaglecfg.review.imports.shell_tokens import REDIRECTIONS, Token, Tokens
from eaglecfg.review.imports.text import Note, Text, not_known

_OPENS = frozenset(("if", "for", "while", "until", "case", "select", "{"))
_BRANCHES = frozenset(("then", "elif", "else", "do"))
_CLOSES = frozenset(("fi", "done", "esac", "}"))
_DECLARES = frozenset(("export", "declare", "typeset", "local", "readonly"))
_TESTS = frozenset(("[", "[[", "test", "grep", "command", "which", "type", "!"))
DEEPEST = 8
"""Functions inside functions, and scripts inside quotes of scripts."""


@record
class Command:
    """One command as it would be started. ``environment`` is what the script gives it."""

    words: tuple[Text, ...]
    environment: dict[str, Text]
    line: int


@dataclass(slots=True)
class _Block:
    """An open block. ``before`` is what was known when it began, ``assigned`` what it assigns."""

    word: str
    line: int
    before: State
    assigned: set[str] = field(default_factory=set)


class Script:
    """Follows one script. After ``run``, ``commands`` and ``notes`` tell what it does."""

    def __init__(self, state: State | None = None, depth: int = 0) -> None:
        self.state = state or State()
        self.depth = depth
        self.commands: list[Command] = []
        self.notes: list[Note] = []
        self.functions: dict[str, list[Token]] = {}
        self.called: set[str] = set()
        self._blocks: list[_Block] = []
        self._doubtful = False

    def run(self, text: str, line: int = 1) -> None:
        """Follow ``text``. Raises UsageError, with the line, for what no shell would read."""
        if self.depth > DEEPEST:
            raise UsageError(f"line {line}: more than {DEEPEST} scripts inside each other")
        self._follow(Tokens(text, line).read())
        for name in [name for name in self.functions if name not in self.called]:
            self._call(name, None)  # nobody calls it here, its launch is a launch all the same

    def _follow(self, tokens: Sequence[Token]) -> None:
        words: list[Token] = []
        at, before, operator = 0, "", ""
        while at <= len(tokens):
            token = tokens[at] if at < len(tokens) else Token(0, operator="\n")
            at += 1
            if token.operator in REDIRECTIONS:
                at += 1  # its file
            elif not token.operator:
                words.append(token)
            elif token.operator == "(" and len(words) == 1 and words[0].bare and _is(tokens, at, ")"):
                at = self._function(words[0].bare, tokens, at + 1)
                words = []
            else:
                if words:
                    self._doubtful = operator == "||" or (operator == "&&" and before in _TESTS)
                    at = self._statement(words, tokens, at)
                    before = words[0].bare
                    words = []
                if token.operator == "(":
                    self._blocks.append(_Block("(", token.line, self.state.copy()))
                elif token.operator == ")" and self._blocks and self._blocks[-1].word == "(":
                    self.state = self._blocks.pop().before
                if token.operator in (";;", ";&", ";;&") and self._blocks:
                    self._branch("else")
                operator = token.operator

    def _statement(self, words: list[Token], tokens: Sequence[Token], at: int) -> int:
        """One command, with the keywords in front of it. Returns where to go on."""
        while words:
            word = words[0].bare
            if word == "function" and len(words) > 1:
                body = at - 1 if len(words) == 2 else at - len(words) + 1
                while body < len(tokens) and tokens[body].operator in ("(", ")", "\n"):
                    body += 1
                return self._function(words[1].bare, tokens, body)
            if word in _OPENS:
                self._blocks.append(_Block(word, words[0].line, self.state.copy()))
                if word in ("for", "select"):
                    self._loop(words)
                    return at
                if word == "case":
                    return at
            elif word in _BRANCHES:
                self._branch(word)
            elif word in _CLOSES:
                self._close()
            elif word not in ("!", "time"):
                break
            words = words[1:]
        if words:
            self._command(words)
        return at

    def _loop(self, words: list[Token]) -> None:
        if len(words) < 2 or not words[1].bare:
            return
        items = expand_all(words[3:], self.state) if len(words) > 2 and words[2].bare == "in" else []
        value = items[0] if len(items) == 1 else not_known(words[1].bare)
        self._assign(words[1].bare, value)

    def _branch(self, word: str) -> None:
        if self._blocks and word in ("else", "elif"):
            block = self._blocks[-1]
            self.state = block.before.copy()

    def _close(self) -> None:
        if not self._blocks:
            return
        block = self._blocks.pop()
        if block.word != "{":
            self.state = block.before
            for name in block.assigned:
                self.state.assign(name, not_known(name))
        for outer in self._blocks[-1:]:
            outer.assigned |= block.assigned

    def _assign(self, name: str, value: Text | tuple[Text, ...], *, more: bool = False) -> None:
        if self._doubtful and self.state.variables.get(name) != value:
            value = not_known(name)
        self.state.assign(name, value, more=more)
        for block in self._blocks[-1:]:
            block.assigned.add(name)

    def _function(self, name: str, tokens: Sequence[Token], at: int) -> int:
        """Keep the body of a function, which begins at ``at``. Returns where the script goes on."""
        while at < len(tokens) and tokens[at].operator == "\n":
            at += 1
        depth, body = 0, []
        while at < len(tokens):
            token = tokens[at]
            at += 1
            depth += (token.bare == "{" or token.operator == "(") - (
                token.bare == "}" or token.operator == ")"
            )
            body.append(token)
            if depth <= 0:
                break
        self.functions[name] = body[1:-1]
        return at

    def _call(self, name: str, given: tuple[Text, ...] | None) -> None:
        self.called.add(name)
        inner = self.state.given
        self.state.given = given
        self.depth += 1
        if self.depth <= DEEPEST:
            self._follow(self.functions[name])
        self.depth -= 1
        self.state.given = inner

    def _command(self, words: list[Token]) -> None:
        self.state.step()
        own: list[tuple[str, Text | tuple[Text, ...], bool]] = []
        while words and (found := assignment(words[0])) is not None:
            name, more, token = found
            value = (
                tuple(expand_all(token.items, self.state))
                if token.items is not None
                else expand_whole(token, self.state)
            )
            own.append((name, value, more))
            words = words[1:]
        if not words:
            for name, value, more in own:
                self._assign(name, value, more=more)
            return
        line = words[0].line
        if words[0].bare in _DECLARES:
            self._declare(words)
            return
        fields = expand_all(words, self.state)
        if not fields:
            return
        if fields[0].text in self.functions:
            outside = self.state.copy()
            for name, value, more in own:
                self.state.assign(name, value, more=more)
                self.state.exported.add(name)
            self._call(fields[0].text, tuple(fields[1:]))
            for name, _, _ in own:
                self.state.variables.pop(name, None)
                self.state.variables |= {key: each for key, each in outside.variables.items() if key == name}
                self.state.exported -= {name} - outside.exported
            return
        environment = self.state.environment()
        environment |= {name: value for name, value, _ in own if isinstance(value, Text)}
        self._start(fields, environment, line)

    def _start(self, fields: list[Text], environment: dict[str, Text], line: int) -> None:
        name, rest = fields[0].text, fields[1:]
        if name == "eval":
            inside = Script(self.state, self.depth + 1)
            inside.functions = self.functions
            inside.run(" ".join(one.text for one in rest), line)
            self.commands += inside.commands
        elif name == "set" and any(one.text in ("-a", "allexport") for one in rest):
            self.state.all_exported = True
        elif name == "unset":
            for one in rest:
                self.state.variables.pop(one.text, None)
                self.state.exported.discard(one.text)
        elif name in ("read", "getopts", "mapfile", "readarray"):
            for one in rest:
                if one.text.isidentifier():
                    self._assign(one.text, not_known(one.text))
        elif name in ("source", ".") and rest:
            self.notes.append(Note(f"{rest[0].text} is not read: what it sets is not known here", line))
        elif name == "cd" and rest:
            self.notes.append(
                Note(f"the script goes to {rest[-1].text}: relative paths count from there", line)
            )
        else:
            self.commands.append(Command(tuple(fields), environment, line))

    def _declare(self, words: list[Token]) -> None:
        kind = words[0].bare
        exports, more = kind == "export", False
        for token in words[1:]:
            if token.bare.startswith(("-", "+")):
                exports = exports or ("x" in token.bare and token.bare[0] == "-")
                exports = exports and not (kind == "export" and "n" in token.bare)
                continue
            found = assignment(token)
            if found is not None:
                name, more, inner = found
                items = inner.items
                value = (
                    tuple(expand_all(items, self.state))
                    if items is not None
                    else expand_whole(inner, self.state)
                )
                self._assign(name, value, more=more)
                names = [name]
            else:
                names = [one.text for one in expand(token, self.state)]
                for name in names:
                    if exports and name not in self.state.variables and name.isidentifier():
                        self.state.variables[name] = not_known(name)
            if exports:
                self.state.exported.update(names)


def _is(tokens: Sequence[Token], at: int, operator: str) -> bool:
    return at < len(tokens) and tokens[at].operator == operator


def follow(text: str, state: State | None = None, depth: int = 0, line: int = 1) -> Script:
    """The script ``text``, followed. Raises UsageError, with the line, for what no shell would read."""
    script = Script(state, depth)
    script.run(text, line)
    return script
