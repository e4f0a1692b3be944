"""What the blocks of a script do to what is known: what they may assign, and what holds after them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from eaglecfg.review.imports.folders import FOLDER, MOVES, STACK
from eaglecfg.review.imports.shell_state import CHANGED, State, Value, assignment, element
from eaglecfg.review.imports.shell_tokens import REDIRECTIONS, Token
from eaglecfg.review.imports.text import Text, not_known

OPENS = frozenset(("if", "for", "while", "until", "case", "select", "{"))
CLOSES = frozenset(("fi", "done", "esac", "}"))
PIPES = frozenset(("|", "|&"))

SURE = frozenset(
    (
        "cd", "export", "declare", "typeset", "local", "readonly", "source", ".", "set", "shift", "unset",
        "mkdir", "pushd", "popd", "echo", "printf", "pip", "pip3", "apt-get", "apt", "conda", "module",
        "ulimit", "sleep", "true", ":", "rm", "cp", "ln", "wait", "trap", "alias", "eval", "sudo", "uv",
    )
)  # fmt: skip
"""Commands behind which ``&&`` is no question: a script that goes on has them succeed."""


@dataclass(slots=True)
class Block:
    """An open block. ``before`` is what was known when it began, ``assigned`` what it changes, ``ends`` what
    was known at the end of each of its branches. ``doubt``: it stands behind a condition; ``apart``: it runs
    in a process of its own. ``pattern``: of a case, the next words are a pattern."""

    word: str
    line: int
    before: State
    doubt: bool = False
    apart: bool = False
    assigned: set[str] = field(default_factory=set)
    ends: list[State] = field(default_factory=list)
    pattern: bool = False


def settle(state: State, names: Collection[str], ends: Sequence[State]) -> None:
    """Make ``names`` in ``state`` what holds whether it stays as it is or becomes as one of ``ends``."""
    for name in names:
        if name == "@":
            if any(end.given != state.given for end in ends):
                state.given = None
            continue
        old = state.variables.get(name)
        values = [end.variables.get(name) for end in ends]
        exported = [name in each.exported for each in (state, *ends)]
        same = (
            all(value == old for value in values)
            and len({name in each.unset for each in (state, *ends)}) == 1
        )
        maybe = any(name in each.maybe for each in (state, *ends))
        if not same:
            state.assign(name, _either(name, old, values))
        if any(exported):
            state.exported.add(name)
        if maybe or not same or any(exported) != all(exported):
            state.maybe.add(name)


def _either(name: str, old: Value | None, values: Sequence[Value | None]) -> Value:
    """The old value with a mark behind it where the others only add to it, else a value that is not known."""
    more = f"{name}+=..."
    if isinstance(old, tuple) and all(isinstance(each, tuple) and each[: len(old)] == old for each in values):
        return (*old, not_known(more))
    if not isinstance(old, Text) or not old.text:
        return not_known(name)
    if all(isinstance(each, Text) and each.text.startswith(old.text) for each in values):
        return old + Text(" " if not old.text.endswith(" ") else "") + not_known(more)
    return not_known(name)


def piped(tokens: Sequence[Token], at: int) -> bool:
    """Whether the block that is open at ``at`` ends in a pipe or in the background."""
    depth = 1
    while at < len(tokens):
        token = tokens[at]
        at += 1
        depth += (token.bare in OPENS) - (token.bare in CLOSES)
        if depth == 0:
            while at + 1 < len(tokens) and tokens[at].operator in REDIRECTIONS:
                at += 2
            return at < len(tokens) and tokens[at].operator in (*PIPES, "&")
    return False


def body_of(tokens: Sequence[Token], at: int) -> Sequence[Token]:
    """What stands in the loop that is open at ``at``."""
    depth, end = 1, at
    while end < len(tokens) and depth:
        depth += (tokens[end].bare in OPENS) - (tokens[end].bare in CLOSES)
        end += 1
    return tokens[at:end]


def assigned_in(
    tokens: Sequence[Token], functions: Mapping[str, Sequence[Token]], depth: int = 0
) -> Iterator[str]:
    """Names that the tokens, and the functions that they call, may assign."""
    for token in tokens:
        found = assignment(token)
        if found is not None:
            yield found[0]
        elif array := element(token):
            yield array
        elif token.bare in ("shift", "set"):
            yield "@"
        elif token.bare in MOVES:
            yield from (FOLDER, STACK)
        elif token.parts and token.parts[0].kind == "arithmetic":
            yield from (each[1] or each[2] for each in CHANGED.finditer(token.parts[0].text))
        elif token.bare in functions and depth < 2:
            yield from assigned_in(functions[token.bare], functions, depth + 1)


def case_at(words: Sequence[Token]) -> int:
    """Where ``case`` stands among the words of a command, behind keywords alone; else -1."""
    for index, word in enumerate(words):
        if word.bare == "case":
            return index
        if word.bare not in OPENS and word.bare not in ("do", "then", "else", "elif", "!", "time"):
            break
    return -1


def function_at(tokens: Sequence[Token], at: int) -> tuple[list[Token], int]:
    """The body of the function that begins at ``at``, and where the script goes on."""
    while at < len(tokens) and tokens[at].operator == "\n":
        at += 1
    braces = at < len(tokens) and tokens[at].bare == "{"
    depth, body = 0, []
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if braces:
            depth += (token.bare == "{") - (token.bare == "}")
        else:
            depth += (token.operator == "(") - (token.operator == ")")
        body.append(token)
        if depth <= 0:
            break
    return (body[1:-1] if braces else body), at
