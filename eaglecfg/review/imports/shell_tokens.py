"""Shell text to words and operators. Nothing is expanded yet: a word is a list of parts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from eaglecfg.errors import UsageError

Kind = Literal["text", "variable", "command", "tilde", "arithmetic"]

OPERATORS = (
    "&>>", "<<<", "<<-", ";;&", "&&", "||", ";;", ";&", "|&", "&>", "<<", ">>", ">&", "<&", ">|", "<>",
    ";", "|", "&", "(", ")", "<", ">", "\n",
)  # fmt: skip
REDIRECTIONS = frozenset(("&>>", "<<<", "<<-", "&>", "<<", ">>", ">&", "<&", ">|", "<>", "<", ">"))
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPECIAL = frozenset("@*#?$!-0123456789")
_ARRAY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=\Z")
_ANSI = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "e": "\x1b",
    "E": "\x1b",
}
_CODE = re.compile(r"x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})")
_TILDE = re.compile(r"~[A-Za-z0-9_.-]*(?=[/\s;&|)]|\Z)")
_PLAIN = re.compile(r"[^\s;&|()<>'\"$`\\]+")
_PLAIN_IN_QUOTES = re.compile(r"[^\"$`\\\n]+")
_PLACEHOLDER = re.compile(r"<[A-Za-z][A-Za-z0-9_./-]{0,80}>(?=\s|\Z)")
"""What instructions write for a value to fill in. A shell would read one file and write another, which nobody
spells like this."""

LONGEST_PART = 512
"""Characters of a part to which more are added: a long word must not cost the square of its length."""

MOST_TOKENS = 200_000
"""Words and operators of one script."""

DEEPEST = 40
"""Nesting of quotes and substitutions. What people write has three levels."""


@dataclass(slots=True)
class Part:
    """A part of a word. ``variable``: ``text`` is what stands between the braces of ``${...}``;
    ``command``: ``text`` is a substitution as it is spelled; ``arithmetic``: a command ``((...))``."""

    kind: Kind
    text: str
    quoted: bool = False


@dataclass(slots=True)
class Token:
    """A word (``parts``), or an operator. ``items`` are the words of an array assignment."""

    line: int
    parts: list[Part] = field(default_factory=list)
    operator: str = ""
    items: list[Token] | None = None

    @property
    def bare(self) -> str:
        """The word where it is plain unquoted text, which is how keywords are written; else empty."""
        if len(self.parts) == 1 and self.parts[0].kind == "text" and not self.parts[0].quoted:
            return self.parts[0].text
        return ""


class Tokens:
    """Reads a script once, left to right."""

    def __init__(self, text: str, line: int = 1, depth: int = 0) -> None:
        self.text = text
        self.at = 0
        self.line = line
        self.depth = depth
        self.heredocs: list[tuple[str, bool]] = []
        self.skipped: list[tuple[int, str]] = []
        """Lines of here-documents, which are text and not read as commands."""
        if depth > DEEPEST:
            raise UsageError(f"line {line}: more than {DEEPEST} substitutions inside each other")

    def read(self) -> list[Token]:
        """All tokens. Raises UsageError with the line for a quote or a bracket that is never closed."""
        out: list[Token] = []
        while (token := self.next()) is not None:
            if token.operator in ("<<", "<<-"):
                mark = self.next()
                if mark is not None and not mark.operator:
                    word = "".join(part.text for part in mark.parts)
                    self.heredocs.append((word, token.operator == "<<-"))
                continue
            out.append(token)
            if len(out) > MOST_TOKENS:
                raise UsageError(
                    f"line {self.line}: more than {MOST_TOKENS:,} words; name the launch script itself"
                )
        return out

    def next(self) -> Token | None:
        """The next token, None at the end."""
        self._skip()
        if self.at >= len(self.text):
            return None
        line = self.line
        if placeholder := _PLACEHOLDER.match(self.text, self.at):
            self.at = placeholder.end()
            return Token(line, [Part("command", placeholder[0])])
        if self.text.startswith("((", self.at) and (token := self._arithmetic()) is not None:
            return token
        for operator in OPERATORS:
            if self.text.startswith(operator, self.at):
                if operator in ("<", ">") and self.text.startswith("(", self.at + 1):
                    break  # process substitution, part of a word
                self.at += len(operator)
                if operator == "\n":
                    self.line += 1
                    self._skip_heredocs()
                return Token(line, operator=operator)
        return self._word()

    def _arithmetic(self) -> Token | None:
        """``((...))`` as one word; None where it is two brackets that close apart from each other."""
        end = self.text.find("))", self.at, self.at + LONGEST_PART)
        inside = self.text[self.at : end + 2] if end > 0 else ""
        if not inside or "\n" in inside:
            return None
        self.at = end + 2
        return Token(self.line, [Part("arithmetic", inside)])

    def _skip(self) -> None:
        text = self.text
        while self.at < len(text):
            if text[self.at] in " \t\r":
                self.at += 1
            elif text.startswith(("\\\n", "\\\r\n"), self.at):
                self.at = text.index("\n", self.at) + 1
                self.line += 1
            elif text[self.at] == "#":
                end = text.find("\n", self.at)
                self.at = len(text) if end < 0 else end
            else:
                return

    def _skip_heredocs(self) -> None:
        for mark, indented in self.heredocs:
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                row = self.text[self.at : end].removesuffix("\r")
                self.at = min(end + 1, len(self.text))
                self.line += 1
                if (row.lstrip("\t") if indented else row) == mark:
                    break
                self.skipped.append((self.line - 1, row))
        self.heredocs = []

    def _word(self) -> Token:
        token = Token(self.line)
        text = self.text
        if text[self.at] == "~":
            found = _TILDE.match(text, self.at)
            if found:
                token.parts.append(Part("tilde", found[0]))
                self.at = found.end()
        while self.at < len(text):
            letter = text[self.at]
            if letter in " \t\n;&|)":
                break
            if letter == "\r" and text.startswith("\r\n", self.at):
                self.at += 1
                break
            if letter in "<>" and not text.startswith("(", self.at + 1):
                if token.bare.isdigit():  # 2> and the like: the number belongs to the redirection
                    token.parts = []
                    return self.next() or token
                break
            if letter == "(":
                if _ARRAY.match(token.bare):
                    token.items = self._array()
                    return token
                break
            self._part(token, letter)
        return token

    def _part(self, token: Token, letter: str) -> None:
        text = self.text
        if text.startswith(("\\\n", "\\\r\n"), self.at):
            self.at = text.index("\n", self.at) + 1
            self.line += 1
        elif letter == "\\":
            self._add(token, text[self.at + 1 : self.at + 2] or "\\", quoted=True)
            self.at += 2
        elif letter == "'":
            self._add(token, self._until("'", self.at + 1, "a single quote"), quoted=True)
        elif letter == '"':
            self._double(token)
        elif letter in "<>":
            end = self._closing(self.at + 1)
            token.parts.append(Part("command", text[self.at : end]))
            self.at = end
        elif letter == "$" or letter == "`":
            self._dollar(token, quoted=False)
        else:
            run = _PLAIN.match(text, self.at)
            self._add(token, run[0] if run else letter, quoted=False)
            self.at = run.end() if run else self.at + 1

    def _add(self, token: Token, text: str, *, quoted: bool) -> None:
        last = token.parts[-1] if token.parts else None
        if (
            last is not None
            and last.kind == "text"
            and last.quoted == quoted
            and len(last.text) < LONGEST_PART
        ):
            last.text += text
        else:
            token.parts.append(Part("text", text, quoted))

    def _until(self, mark: str, start: int, what: str) -> str:
        end = self.text.find(mark, start)
        if end < 0:
            raise UsageError(f"line {self.line}: {what} is opened and never closed")
        inside = self.text[start:end]
        self.line += inside.count("\n")
        self.at = end + 1
        return inside

    def _double(self, token: Token) -> None:
        """The inside of double quotes, where only a dollar, a backtick and a backslash mean anything."""
        opened = self.line
        self.at += 1
        self._add(token, "", quoted=True)
        text = self.text
        while True:
            if self.at >= len(text):
                raise UsageError(f"line {opened}: a double quote is opened and never closed")
            letter = text[self.at]
            if letter == '"':
                self.at += 1
                return
            if letter == "\\" and text[self.at + 1 : self.at + 2] in ("$", "`", '"', "\\", "\n"):
                follows = text[self.at + 1]
                self.line += follows == "\n"
                self._add(token, "" if follows == "\n" else follows, quoted=True)
                self.at += 2
            elif letter in "$`":
                self._dollar(token, quoted=True)
            else:
                run = _PLAIN_IN_QUOTES.match(text, self.at)
                self.line += letter == "\n"
                self._add(token, run[0] if run else letter, quoted=True)
                self.at = run.end() if run else self.at + 1

    def _dollar(self, token: Token, *, quoted: bool) -> None:
        text, start = self.text, self.at
        follows = text[start + 1 : start + 2]
        if text[start] == "`":
            inside = self._until("`", start + 1, "a backtick")
            token.parts.append(Part("command", f"`{inside}`", quoted))
        elif follows == "(":
            end = self._closing(start + 1)
            token.parts.append(Part("command", text[start:end], quoted))
            self.at = end
        elif follows == "{":
            end = self._closing(start + 1)
            token.parts.append(Part("variable", text[start + 2 : end - 1], quoted))
            self.at = end
        elif follows == "[" and (end := text.find("]", start)) > 0:  # arithmetic as it was written once
            token.parts.append(Part("command", text[start : end + 1], quoted))
            self.at = end + 1
        elif follows == "'" and not quoted:
            self._ansi(token)
        elif follows == '"' and not quoted:
            self.at += 1
        elif found := _NAME.match(text, start + 1):
            token.parts.append(Part("variable", found[0], quoted))
            self.at = found.end()
        elif follows and follows in _SPECIAL:
            token.parts.append(Part("variable", follows, quoted))
            self.at += 2
        else:
            self._add(token, "$", quoted=True)
            self.at += 1

    def _ansi(self, token: Token) -> None:
        """``$'...'``, in which escapes mean letters."""
        text, at, out, opened = self.text, self.at + 2, "", self.line
        while True:
            if at >= len(text):
                raise UsageError(f"line {opened}: a single quote is opened and never closed")
            letter = text[at]
            if letter == "'":
                break
            code = _CODE.match(text, at + 1) if letter == "\\" else None
            if code:
                digits = code[1] or code[2] or code[3]
                number = int(digits, 16) if digits else int(code[4], 8)
                out += chr(number) if number <= 0x10FFFF else ""
                at = code.end()
            elif letter == "\\" and at + 1 < len(text):
                out += _ANSI.get(text[at + 1], text[at + 1])
                at += 2
            else:
                out += letter
                self.line += letter == "\n"
                at += 1
        self.at = at + 1
        self._add(token, out, quoted=True)

    def _closing(self, start: int) -> int:
        """Where what opens at ``start`` with ( or { ends, quotes and nested brackets respected."""
        text, at, opened = self.text, start, self.line
        stack: list[str] = []
        while at < len(text):
            letter = text[at]
            if stack and stack[-1] == "'":
                if letter == "'":
                    stack.pop()
            elif letter == "\\":
                at += 1
                self.line += text[at : at + 1] == "\n"
            elif stack and letter == stack[-1]:
                stack.pop()
                if not stack:
                    return at + 1
            elif letter == "'" and '"' not in stack[-1:]:
                stack.append("'")
            elif letter in '"`':
                stack.append(letter)
            elif letter in "({" and '"' not in stack[-1:]:
                stack.append({"(": ")", "{": "}"}[letter])
            elif letter == "$" and text[at + 1 : at + 2] in ("(", "{"):
                at += 1
                stack.append({"(": ")", "{": "}"}[text[at]])
            if len(stack) > DEEPEST:
                break
            self.line += text[at : at + 1] == "\n"
            at += 1
        raise UsageError(f"line {opened}: a bracket is opened and never closed")

    def _array(self) -> list[Token]:
        opened = self.line
        self.at += 1
        items: list[Token] = []
        while True:
            token = self.next()
            if token is None:
                raise UsageError(f"line {opened}: a list in brackets is opened and never closed")
            if token.operator == ")":
                return items
            if not token.operator:
                items.append(token)
