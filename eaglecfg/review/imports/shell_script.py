"""A script followed from top to bottom: every command with the words and the environment it would get."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence

from eaglecfg.errors import UsageError
from eaglecfg.review.imports.commands import Command
from eaglecfg.review.imports.folders import FOLDER, MOVES, STACK, move, standing_in
from eaglecfg.review.imports.shell_flow import (
    CLOSES,
    OPENS,
    PIPES,
    SURE,
    Block,
    assigned_in,
    body_of,
    case_at,
    function_at,
    piped,
    settle,
)
from eaglecfg.review.imports.shell_state import (
    CHANGED,
    State,
    Value,
    assignment,
    element,
    expand,
    expand_all,
    expand_whole,
)
from eaglecfg.review.imports.shell_tokens import REDIRECTIONS, Token, Tokens
from eaglecfg.review.imports.text import Note, Text, guarded, joined, not_known

_BRANCHES = frozenset(("then", "elif", "else", "do"))
_DECLARES = frozenset(("export", "declare", "typeset", "local", "readonly"))
DEEPEST = 8
"""Functions inside functions, and scripts inside quotes of scripts."""

MOST_BLOCKS = 100
"""Open blocks, loops, conditions and brackets inside each other."""


class Script:
    """Follows one script. After ``run``, ``commands`` and ``notes`` tell what it does."""

    def __init__(self, state: State | None = None, depth: int = 0) -> None:
        self.state = state or State()
        self.depth = depth
        self.commands: list[Command] = []
        self.notes: list[Note] = []
        self.functions: dict[str, list[Token]] = {}
        self.called: set[str] = set()
        self.skipped: list[tuple[int, str]] = []
        self._blocks: list[Block] = []
        self._folder = ""
        self._moves: list[tuple[int, Note]] = []
        self._doubt = False
        self._left = False
        """A function may have been left by now, under a condition."""
        self._ended = ""
        """What ended the script for certain, or the function."""
        self._listed: set[str] = set()
        self._locals: list[dict[str, tuple[Value | None, bool, bool]]] = []

    def run(self, text: str, line: int = 1) -> None:
        """Follow ``text``. Raises UsageError, with the line, for what no shell would read."""
        self._read(text, line)
        for name in [name for name in self.functions if name not in self.called]:
            self._ended = ""
            self._call(name, None)  # nobody calls it here, its launch is a launch all the same

    def _read(self, text: str, line: int) -> None:
        if self.depth > DEEPEST:
            raise UsageError(f"line {line}: more than {DEEPEST} scripts inside each other")
        tokens = Tokens(text, line)
        read = tokens.read()
        self.skipped += tokens.skipped
        self._follow(read)

    def _follow(self, tokens: Sequence[Token]) -> None:
        words: list[Token] = []
        at, operator = 0, ""
        while at <= len(tokens):
            token = tokens[at] if at < len(tokens) else Token(0, operator="\n")
            at += 1
            block = self._blocks[-1] if self._blocks else None
            if token.operator in REDIRECTIONS:
                at += 1  # its file
            elif not token.operator:
                words.append(token)
            elif block is not None and block.pattern and not (words and words[0].bare == "esac"):
                if token.operator == ")":  # what stood before it is a pattern
                    block.pattern, words = False, []
            elif token.operator == "(" and len(words) == 1 and words[0].bare and _is(tokens, at, ")"):
                at = self._function(words[0].bare, tokens, at + 1)
                words = []
            elif token.operator == ")" and (first := case_at(words)) >= 0:
                if first:
                    self._statement(words[:first], tokens, at, operator, apart=False)
                self._open("case", words[first].line, operator, tokens, at)
                self._blocks[-1].pattern = False
                words, operator = [], ";;"
            elif words or token.operator != "\n" or operator not in ("&&", "||", "|", "|&"):
                at = self._end(words, token, operator, tokens, at)
                words, operator = [], token.operator
            if self._ended:
                return

    def _end(self, words: list[Token], token: Token, operator: str, tokens: Sequence[Token], at: int) -> int:
        """A command that ends at the operator ``token``, and what this means for the next one."""
        before = words[0].bare if words else ""
        sure = before in SURE or bool(words and all(assignment(word) is not None for word in words))
        if words:
            apart = operator in PIPES or token.operator in (*PIPES, "&")
            at = self._statement(words, tokens, at, operator, apart=apart)
        if token.operator == "(" and not (self._blocks and self._blocks[-1].pattern):
            self._open("(", token.line, operator, tokens, at)
        elif token.operator == ")" and self._blocks and self._blocks[-1].word == "(":
            self._close()
        elif token.operator in (";;", ";&", ";;&") and self._blocks:
            self._branch("else")
            self._blocks[-1].pattern = self._blocks[-1].word == "case"
        if token.operator == "&":  # the whole list runs apart, what it assigned is lost
            for name in self._listed:
                self.state.assign(name, not_known(name))
        if token.operator == "||" or (token.operator == "&&" and not sure):
            self._doubt = True
        elif token.operator not in ("&&", *PIPES, ")"):
            self._doubt = False
            self._listed = set()
        return at

    def _statement(
        self, words: list[Token], tokens: Sequence[Token], at: int, operator: str, *, apart: bool
    ) -> int:
        """One command, with the keywords in front of it. Returns where to go on."""
        while words:
            word = words[0].bare
            if word == "function" and len(words) > 1:
                body = at - 1 if len(words) == 2 else at - len(words) + 1
                while body < len(tokens) and tokens[body].operator in ("(", ")", "\n"):
                    body += 1
                return self._function(words[1].bare, tokens, body)
            if word in OPENS:
                self._open(word, words[0].line, operator, tokens, at)
                if word in ("for", "select"):
                    self._loop(words)
                    return at
                if word == "case":
                    return at
                apart = False
            elif word in _BRANCHES:
                self._branch(word)
            elif word in CLOSES:
                self._close()
            elif word not in ("!", "time"):
                break
            words = words[1:]
        if words and apart:
            outside, blocks, listed = self.state, self._blocks, self._listed
            self.state, self._blocks, self._listed = outside.copy(), [], set()
            self._command(words)
            self.state, self._blocks, self._listed = outside, blocks, listed
        elif words:
            self._command(words)
        return at

    def _open(self, word: str, line: int, operator: str, tokens: Sequence[Token], at: int) -> None:
        if len(self._blocks) > MOST_BLOCKS:
            raise UsageError(f"line {line}: more than {MOST_BLOCKS} blocks inside each other")
        block = Block(word, line, self.state.copy(), self._doubt, word == "(" or operator in PIPES)
        if word in ("{", "if", "while", "until", "for", "case"):
            block.apart = block.apart or piped(tokens, at)
        block.pattern = word == "case"
        self._blocks.append(block)
        self._doubt = False
        if word in ("for", "while", "until", "select"):
            for name in assigned_in(body_of(tokens, at), self.functions):
                self._uncertain(name)

    def _uncertain(self, name: str) -> None:
        """``name`` has one value now and another one in a later round."""
        if name == "@":
            self.state.given = None
        else:
            self.state.assign(name, not_known(name))
            self.state.maybe.add(name)
        for block in self._blocks[-1:]:
            block.assigned.add(name)

    def _loop(self, words: list[Token]) -> None:
        if len(words) < 2 or not words[1].bare:
            for word in words[1:]:
                self._calculate("".join(part.text for part in word.parts))
            return
        items = expand_all(words[3:], self.state) if len(words) > 2 and words[2].bare == "in" else []
        value = items[0] if len(items) == 1 and not items[0].unknown else not_known(words[1].bare)
        self._assign(words[1].bare, value)

    def _branch(self, word: str) -> None:
        if self._blocks and word in ("else", "elif"):
            block = self._blocks[-1]
            block.ends.append(self.state)
            self.state = block.before.copy()

    def _close(self) -> None:
        if not self._blocks:
            return
        block = self._blocks.pop()
        if block.apart:
            self.state = block.before
        elif block.word != "{" or block.doubt:
            block.ends.append(self.state)
            self.state = block.before
            settle(self.state, block.assigned, block.ends)
        self._doubt = block.doubt
        if not block.apart:
            for outer in self._blocks[-1:]:
                outer.assigned |= block.assigned

    def _assign(self, name: str, value: Value, *, more: bool = False) -> None:
        self._change(name, lambda state: state.assign(name, value, more=more))

    def _change(self, name: str, change: Callable[[State], None]) -> None:
        """Do what a command does to a variable; behind a condition it may be done or not."""
        self._listed.add(name)
        for block in self._blocks[-1:]:
            block.assigned.add(name)
        if not self._doubt and not self._left:
            change(self.state)
            return
        other = self.state.copy()
        change(other)
        settle(self.state, {name}, [other])

    def _function(self, name: str, tokens: Sequence[Token], at: int) -> int:
        """Keep the body of a function, which begins at ``at``. Returns where the script goes on."""
        self.functions[name], at = function_at(tokens, at)
        return at

    def _call(self, name: str, given: tuple[Text, ...] | None) -> None:
        self.called.add(name)
        inner, doubt, left = self.state.given, self._doubt, self._left
        self.state.given = given
        self._left = self._left or doubt
        self._doubt = False
        self._locals.append({})
        self.depth += 1
        if self.depth <= DEEPEST:
            blocks, self._blocks = self._blocks, []
            frame = Block("{", 0, self.state)
            self._blocks.append(frame)
            self._follow(self.functions[name])
            self._blocks = blocks
            for outer in blocks[-1:]:
                outer.assigned |= frame.assigned - {"@"} - set(self._locals[-1])
        else:
            self.notes.append(Note(f"{name} is not followed: functions call each other too deeply", 0, True))
        self.depth -= 1
        for local, (value, exported, maybe) in self._locals.pop().items():
            self.state.remove(local)
            self.state.unset.discard(local)
            if value is not None:
                self.state.variables[local] = value
            self.state.exported |= {local} if exported else set()
            self.state.maybe |= {local} if maybe else set()
        if self._ended == "return":
            self._ended = ""
        self._doubt, self._left = doubt, left
        self.state.given = inner

    def _command(self, words: list[Token]) -> None:
        """Expand the words, and do what the command does to what is known."""
        self.state.step()
        self._expanded(words)
        for word in words:
            for part in word.parts:
                if part.kind == "command" and part.text.startswith(("$((", "$[")):
                    self._calculate(part.text)

    def _expanded(self, words: list[Token]) -> None:
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
        if array := element(words[0]):
            self._assign(array, not_known(array))
            if words[1:]:
                self._expanded(words[1:])
            return
        if words[0].parts and words[0].parts[0].kind == "arithmetic":
            self._calculate(words[0].parts[0].text)
            return
        if words[0].bare in _DECLARES:
            self._declare(words)
            return
        fields = expand_all(words, self.state)
        if not fields:
            return
        if fields[0].text in self.functions or (own and fields[0].text == "eval"):
            outside = self.state.copy()
            for name, value, more in own:
                self.state.assign(name, value, more=more)
                self.state.exported.add(name)
            if fields[0].text in self.functions:
                self._call(fields[0].text, tuple(fields[1:]))
            else:
                self._start(fields, {}, line)
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
            text = joined(rest, " ") if rest else Text("")
            if any(not _has_placeholder(text.text, each) for each in text.unknown):
                self._todo(f"eval runs {guarded(text.text[:60])}, which is not known here", line)
            self.depth += 1
            self._read(self.state.outer.taken(text), line)
            self.depth -= 1
        elif name == "set":
            self._set(rest, line)
        elif name == "shift":
            self._shift(rest[0].text if rest else "1")
        elif name in ("let", "((") or name.startswith("(("):
            for one in fields:
                self._calculate(one.text)
        elif name == "unset":
            for one in rest if Text("-f") not in rest else ():
                if "[" in one.text:
                    self._assign(one.text.partition("[")[0], not_known(one.text.partition("[")[0]))
                elif not one.text.startswith("-"):
                    self._change(one.text, lambda state, gone=one.text: state.remove(gone))  # type: ignore[misc]
        elif name in ("read", "getopts", "mapfile", "readarray", "printf"):
            names = rest if name != "printf" else rest[1:2] if rest[:1] == [Text("-v")] else []
            for one in names:
                if one.text.isidentifier():
                    self._assign(one.text, Text(f"${{{one.text}}}", (f"what {name} puts into {one.text}",)))
        elif name in ("source", ".") and rest:
            if posixpath.basename(rest[0].text) not in ("activate", "conda.sh"):
                self._todo(f"{rest[0].text} is not read: what it sets is not known here", line)
                self.state.reads(guarded(rest[0].text))
            self.commands.append(Command(tuple(fields), {}, line))
        elif name in MOVES:
            self._move(name, rest, line)
        else:
            sure, here = not self._conditional(), standing_in(self.state)
            self.commands.append(
                Command(tuple(fields), environment, line, self.state.unread, sure, self._folder, here)
            )
            self._leave(name, rest)

    def _move(self, name: str, rest: list[Text], line: int) -> None:
        there = move(name, rest, self.state)
        if there is None:
            return
        self._folder = there.shown
        self._assign(FOLDER, there.folder)
        self._assign(STACK, there.stack)
        goes = "goes back" if name == "popd" else "goes"
        note = Note(f"the script {goes} to {there.shown}: relative paths count from there", line)
        self._moves.append((len(self.commands), note))

    def moves(self, before: int) -> list[Note]:
        """What is to be told of the folders that it has gone to by the command with the index ``before``."""
        return [note for at, note in self._moves if at <= before]

    def _conditional(self) -> bool:
        inside = any(block.word != "{" or block.doubt for block in self._blocks)
        return self._doubt or self._left or inside

    def _leave(self, name: str, rest: list[Text]) -> None:
        """``return``, ``exit`` and ``exec`` end what they stand in, for certain or perhaps."""
        if name not in ("return", "exit", "exec") or (name == "exec" and not rest):
            return
        if not self._conditional():
            self._ended = name
        elif name == "return":
            self._left = True

    def _todo(self, text: str, line: int) -> None:
        self.notes.append(Note(text, line, todo=True, block="env"))

    def _set(self, rest: list[Text], line: int) -> None:
        words = [one.text for one in rest]
        for index, word in enumerate(words):
            if word == "--":
                self._listed.add("@")
                for block in self._blocks[-1:]:
                    block.assigned.add("@")
                self.state.given = None if self._doubt or self._left else tuple(rest[index + 1 :])
                return
            on = word[:1] == "-"
            option = word[1:2] != "o" and "a" in word[1:]
            if word[:1] in ("-", "+") and (option or words[index + 1 : index + 2] == ["allexport"]):
                if self._conditional():
                    self._todo(f"set {word} stands under a condition: it decides what is exported", line)
                self.state.all_exported = on

    def _shift(self, count: str) -> None:
        for block in self._blocks[-1:]:
            block.assigned.add("@")
        given = self.state.given
        known = not self._doubt and not self._left and given is not None and count.isdigit()
        if known and given is not None and int(count) <= len(given):
            self.state.given = given[int(count) :]
        else:
            self.state.given = None

    def _calculate(self, text: str) -> None:
        """Arithmetic that assigns: what comes out is not followed."""
        for found in CHANGED.finditer(text):
            name = found[1] or found[2]
            self._assign(name, Text(f"${{{name}}}", (f"what arithmetic makes of {name}",)))

    def _declare(self, words: list[Token]) -> None:
        kind = words[0].bare
        options = {letter for token in words[1:] if token.bare[:1] == "-" for letter in token.bare[1:]}
        exports = (kind == "export" and "n" not in options) or "x" in options
        hides = (kind == "export" and "n" in options) or any(token.bare == "+x" for token in words[1:])
        local = bool(self._locals) and kind in ("local", "declare", "typeset") and "g" not in options
        for token in words[1:]:
            if token.bare[:1] in ("-", "+") and token.bare:
                continue
            found = assignment(token)
            value: Value | None = None
            more = False
            if found is not None:
                name, more, inner = found
                items = inner.items
                value = (
                    tuple(expand_all(items, self.state))
                    if items is not None
                    else expand_whole(inner, self.state)
                )
                if options & {"i", "n", "l", "u"} and kind != "export":
                    value = not_known(name)
                names = [name]
            else:
                names = []
                for one in expand(token, self.state):
                    name, equals, text = one.text.partition("=")
                    names.append(name)
                    value = Text(text, one.unknown) if equals else None
            for name in names:
                if hides:
                    self._change(name, lambda state, gone=name: state.exported.discard(gone))  # type: ignore[misc]
                self._declared(name, value, more=more, local=local, exports=exports)

    def _declared(self, name: str, value: Value | None, *, more: bool, local: bool, exports: bool) -> None:
        if not name.isidentifier():
            return
        if local and name not in self._locals[-1]:
            state = self.state
            self._locals[-1][name] = (state.variables.get(name), name in state.exported, name in state.maybe)
            if value is None:
                self._change(name, lambda state: state.remove(name))
        if value is not None:
            self._assign(name, value, more=more)
        if exports:
            self._change(name, lambda state: state.export(name))


def _is(tokens: Sequence[Token], at: int, operator: str) -> bool:
    return at < len(tokens) and tokens[at].operator == operator


def _has_placeholder(text: str, name: str) -> bool:
    return f"${{{name}}}" in text


def follow(text: str, state: State | None = None, depth: int = 0, line: int = 1) -> Script:
    """The script ``text``, followed. Raises UsageError, with the line, for what no shell would read."""
    script = Script(state, depth)
    script.run(text, line)
    return script
