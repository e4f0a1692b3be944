"""What an outer shell, Compose or systemd puts into the text of a script before the inner shell reads it."""

from __future__ import annotations

import re

from eaglecfg.errors import UsageError
from eaglecfg.review.imports.text import Text, joined

_FIRST, _LAST = 0xF0000, 0xFFFFD
"""Letters that are nobody's: one for each part, so that no quote and no backslash takes it apart."""

_MARK = re.compile(f"[{chr(_FIRST)}-{chr(_LAST)}]")


class Outer:
    """Parts of a script that are not known and that the inner shell never sees as variables.

    ``sh -c "... --tp $TP"`` gets its ``$TP`` from the outer shell, whatever TP is in the environment of the
    inner one. In the text that is followed each such part stands as one letter that means nothing to a shell.
    """

    def __init__(self) -> None:
        self.parts: dict[Text, int] = {}
        self.known: list[Text] = []

    def taken(self, word: Text) -> str:
        """The text of ``word`` with a mark for each part that is not known.

        Raises UsageError for more of them than there are letters.
        """
        pieces, at = [], 0
        for (begin, end), names in zip(word.open_parts, word.names, strict=True):
            pieces += [word.text[at:begin], self._mark(Text(word.text[begin:end], names))]
            at = end
        return "".join((*pieces, word.text[at:]))

    def _mark(self, part: Text) -> str:
        number = self.parts.setdefault(part, len(self.known))
        if number == len(self.known):
            self.known.append(part)
        if _FIRST + number > _LAST:
            raise UsageError(f"more than {_LAST - _FIRST:,} parts of a script are not known")
        return chr(_FIRST + number)

    def filled(self, text: str) -> Text:
        """``text`` as the inner shell has it, quoted or not: the outer one has put its parts in before."""
        if not self.known or not _MARK.search(text):
            return Text(text)
        pieces, at = [], 0
        for found in _MARK.finditer(text):
            number = ord(found[0]) - _FIRST
            if number < len(self.known):
                pieces += [Text(text[at : found.start()]), self.known[number]]
                at = found.end()
        return joined([*pieces, Text(text[at:])])

    def shown(self, text: str) -> str:
        """``text`` for messages, with the parts as they are spelled."""
        return self.filled(text).text
