"""Commands that another host's shell reads once more: ssh and its like join their words to one text."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from eaglecfg.review.imports.text import Text, joined

REMOTE = frozenset(("ssh", "pdsh", "clush", "rsh", "autossh"))
_WITH_VALUE = {
    "ssh": "BbcDEeFIiJLlmOoPpQRSWw",
    "autossh": "BbcDEeFIiJLlmMOoPpQRSWw",
    "rsh": "l",
    "pdsh": "wxgRltuf",
    "clush": "wxgXlftu",
}
"""Letters of the options that take a value."""


def start_of_remote(words: Sequence[Text], at: int) -> int:
    """Where the command for the other host begins, behind the options and the host of ``words[at]``."""
    program = posixpath.basename(words[at].text)
    letters = _WITH_VALUE[program]
    named = program in ("pdsh", "clush")  # the hosts are an option's value
    at += 1
    while at < len(words):
        text = words[at].text
        if not text.startswith("-"):
            if named:
                return at
            named = True
        elif text == "--":
            return at + 1
        elif (
            not text.startswith("--") and len(text) > 1 and text[-1] in letters and _last_takes(text, letters)
        ):
            at += 1
        at += 1
    return at


def _last_takes(text: str, letters: str) -> bool:
    """Whether it is the last letter of ``-tt`` or ``-Np`` that takes the value, not one in front of it."""
    return not any(letter in letters for letter in text[1:-1])


def rejoined(words: Sequence[Text]) -> tuple[Text, ...]:
    """The words with those for another host as the one text that its shell reads."""
    for at, word in enumerate(words):
        name = posixpath.basename(word.text)
        if name in ("docker", "podman", "nerdctl", "kubectl", "python", "python3"):
            break
        if name in REMOTE:
            begin = start_of_remote(words, at)
            if begin < len(words) - 1:
                return (*words[:begin], joined(words[begin:], " "))
            break
    return tuple(words)
