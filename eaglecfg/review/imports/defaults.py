"""What is to be told of variables that a launch gives a default."""

from __future__ import annotations

from collections.abc import Mapping

from eaglecfg.review.imports.shell_state import Default
from eaglecfg.review.imports.text import Note, guarded
from eaglecfg.source.secrets import is_secret_name


def of_defaults(defaults: Mapping[str, Default], where: str = "", line: int = 0) -> list[Note]:
    """One note for each default. ``where`` says whose it is: `` in the script``.

    An empty one is never taken: ``${HF_TOKEN:-}`` says that the variable may be missing, not that it is.
    """
    return [_note(name, default, where, line) for name, default in defaults.items()]


def _note(name: str, default: Default, where: str, line: int) -> Note:
    if not default.text:
        text = f"${name} has an empty default{where}, which is not taken: whoever launches may set it"
        return Note(text, line)
    shown = "what the text says" if is_secret_name(name) else repr(guarded(default.text))
    text = f"${name} is taken as {shown}, its default{where}"
    if not default.unread:
        return Note(text, line)
    return Note(f"{text}; {default.unread}, which is not read, may set it", line, True, "deployment")
