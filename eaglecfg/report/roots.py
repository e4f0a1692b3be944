"""From file names as users spell them to paths from the root of their repository, which code hosts want."""

from __future__ import annotations

import os.path
from pathlib import Path
from urllib.parse import quote

from eaglecfg.record import record

STDIN = "-"


@record
class Roots:
    """``here`` is the folder that relative names count from, ``root`` the one that paths are given from."""

    here: Path
    root: Path

    def path(self, name: str) -> str | None:
        """``name`` from the root, with ``/`` between parts; None for stdin and for what lies elsewhere."""
        if name == STDIN:
            return None
        full = Path(os.path.normpath(self.here / name))
        return full.relative_to(self.root).as_posix() if full.is_relative_to(self.root) else None

    def holds(self, name: str) -> bool:
        """Whether ``name`` is a file here; evidence may also name a version of an engine, or a hub id."""
        try:
            return (self.here / name).is_file()
        except (OSError, ValueError):
            return False

    def shown(self, name: str) -> str:
        """The path from the root, or the name as it is."""
        return "stdin" if name == STDIN else self.path(name) or name

    def uri(self, name: str) -> str:
        """The path from the root as a relative URI; an absolute one for what lies elsewhere."""
        if name == STDIN:
            return "stdin"
        inside = self.path(name)
        if inside is not None:
            return escaped(inside)
        return "file://" + escaped(os.path.normpath(self.here / name))


def roots(here: Path) -> Roots:
    """Paths from the nearest folder above ``here`` that is a git work tree; from ``here`` without one."""
    root = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    return Roots(here, root)


def escaped(path: str) -> str:
    """``path`` percent-encoded; a name that is no text keeps its bytes."""
    text = quote(os.fsencode(path), safe="/-._~!$&'()*+,;=@")
    # A colon in the first part would read as a scheme.
    return f"./{text}" if ":" in text.split("/", 1)[0] else text
