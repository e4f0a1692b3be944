"""What an outer shell, Compose or systemd puts into the text of a script before the inner shell reads it."""

from __future__ import annotations

import re

from eaglecfg.review.imports.text import Text, joined

_MARK = "\ue010"
_MARKED = re.compile(rf"\$\{{{_MARK}([0-9]+)\}}")


class Outer:
    """Parts of a script that are not known and that the inner shell never sees as variables.

    ``sh -c "... --tp $TP"`` gets its ``$TP`` from the outer shell, whatever TP is in the environment of the
    inner one. In the text that is followed each such part stands as a variable that no script can have.
    """

    def __init__(self) -> None:
        self.parts: list[Text] = []

    def taken(self, word: Text) -> str:
        """The text of ``word`` with a mark for each part that is not known."""
        pieces, at = [], 0
        for begin, end in word.open_parts:
            part = word.text[begin:end]
            names = [name for name in word.unknown if name == part or f"${{{name}}}" == part]
            pieces += [word.text[at:begin], f"${{{_MARK}{len(self.parts)}}}"]
            self.parts.append(Text(part, tuple(names) or word.unknown))
            at = end
        return "".join((*pieces, word.text[at:]))

    def part(self, parameter: str) -> Text | None:
        """The part that is marked where a variable's name would stand; None for a variable."""
        number = parameter.removeprefix(_MARK)
        if number == parameter or not number.isdigit() or int(number) >= len(self.parts):
            return None
        return self.parts[int(number)]

    def filled(self, text: str) -> Text:
        """``text`` from single quotes: the outer shell has put its parts in there too."""
        if _MARK not in text:
            return Text(text)
        pieces, at = [], 0
        for found in _MARKED.finditer(text):
            part = self.part(_MARK + found[1])
            if part is not None:
                pieces += [Text(text[at : found.start()]), part]
                at = found.end()
        return joined([*pieces, Text(text[at:])])

    def shown(self, text: str) -> str:
        """``text`` for messages, with the parts as they are spelled."""
        return self.filled(text).text if _MARK in text else text
