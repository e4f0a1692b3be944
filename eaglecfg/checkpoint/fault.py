"""A file that cannot be taken as it is: raised inside this package, returned to others as a FileProblem."""

from __future__ import annotations

from eaglecfg.checkpoint.facts import FileProblem
from eaglecfg.checkpoint.limits import MAX_NAME_SHOWN


class FileFault(Exception):
    """Carries the FileProblem that the loader adds to its result. Never leaves the package."""

    def __init__(self, problem: FileProblem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def legible(name: str) -> str:
    """A name from a file as a message shows it: no control characters, no half characters, not too long."""
    if len(name) > MAX_NAME_SHOWN:
        name = f"{name[: MAX_NAME_SHOWN - 3]}..."
    if name.isascii() and name.isprintable():
        return name
    shown = (c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in name)
    return "".join(shown)


def listed(names: list[str], most: int = 3) -> str:
    """``a, b, c and 4 more``, each name legible."""
    rest = len(names) - most
    return ", ".join(legible(name) for name in names[:most]) + (f" and {rest:,} more" if rest > 0 else "")
