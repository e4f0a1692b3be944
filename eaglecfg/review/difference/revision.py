"""Files as a git revision has them. git runs in a child process and is handed object names, never a shell."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from eaglecfg.errors import UsageError
from eaglecfg.record import record

GIT = (
    *("git", "--literal-pathspecs", "--no-optional-locks"),
    # A repository's own settings may name programs to run; reading objects needs none of them.
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
)
SECONDS = 30.0
"""How long one call of git may take. Listing a tree of 100,000 files takes a second."""

MOST_LISTING = 64 << 20
"""Bytes of one listing: some 500,000 files."""


@record
class Blob:
    """One file of a revision. ``path`` counts from the top of the repository. ``kind`` is ``file``, ``link``
    (what it holds is the path of another file) or ``module`` (another repository)."""

    path: str
    id: str
    size: int | None
    kind: str


@record
class Revision:
    """One state of a repository. ``spelled`` as the user named it, empty for the index; ``root`` is the top
    of the working tree, ``prefix`` the current folder below it (empty at the top, else with a slash at its
    end)."""

    spelled: str
    tree: str
    root: Path
    prefix: str

    def path(self, given: str) -> str:
        """A path as git takes it after ``REV:``: from the top, or with ``./`` from the current folder.

        Raises UsageError for one that leads out of the repository.
        """
        relative = given in (".", "..") or given.startswith(("./", "../"))
        parts: list[str] = []
        for part in f"{self.prefix if relative else ''}{given}".split("/"):
            if part == ".." and not parts:
                raise UsageError(f"{self.spelled}:{given} leads out of the repository {self.root}")
            if part == "..":
                parts.pop()
            elif part not in ("", "."):
                parts.append(part)
        return "/".join(parts)

    def list(self, folder: str = "") -> tuple[Blob, ...]:
        """All files at or below the path ``folder``."""
        below = ["--", folder] if folder else []
        if not self.tree:
            raw = _git(self.root, ["ls-files", "-z", "--stage", *below])
            return tuple(_staged(raw))
        raw = _git(self.root, ["ls-tree", "-r", "-z", "-l", "--full-tree", self.tree, *below])
        return tuple(_listed(raw))

    def read(self, blob: Blob, most: int) -> bytes:
        """At most ``most`` bytes of a file."""
        return _git(self.root, ["cat-file", "blob", blob.id], most)


def open_revision(spelled: str, folder: Path) -> Revision:
    """The revision ``spelled`` of the repository around ``folder``. Raises UsageError where there is none."""
    try:
        top = _git(folder, ["rev-parse", "--show-toplevel", "--show-prefix"]).decode(
            "utf-8", "surrogateescape"
        )
    except UsageError as error:
        raise UsageError(
            f"{spelled}: a git revision can only be read in a git repository ({error})"
        ) from None
    root, _, prefix = top.removesuffix("\n").partition("\n")
    tree = ""
    if spelled:
        try:
            found = _git(
                folder, ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{spelled}^{{tree}}"]
            )
        except UsageError:
            raise UsageError(
                f"{spelled}: this repository has no such revision; `git branch -a` and `git tag` list names "
                "(a shallow clone has few: git fetch --unshallow, or fetch-depth: 0 in a workflow)"
            ) from None
        tree = found.decode("ascii", "replace").strip()
    return Revision(spelled, tree, Path(root), prefix)


def split_spelling(spelled: str) -> tuple[str, str] | None:
    """``REV:path`` taken apart, None where it is none. A colon in ``^{/fix: x}`` divides nothing."""
    depth = 0
    for place, character in enumerate(spelled):
        if character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
        elif character == ":" and depth <= 0:
            return spelled[:place], spelled[place + 1 :]
    return None


def _listed(raw: bytes) -> Iterator[Blob]:
    """Rows of ls-tree: ``mode type id size<TAB>path``."""
    for row in raw.split(b"\0"):
        head, tab, path = row.partition(b"\t")
        if tab:
            mode, _, name, size = head.decode("ascii").split()
            yield _blob(mode, name, int(size) if size.isdecimal() else None, path)


def _staged(raw: bytes) -> Iterator[Blob]:
    """Rows of ls-files --stage: ``mode id stage<TAB>path``. Of a conflict the first side stands for all."""
    seen: set[bytes] = set()
    for row in raw.split(b"\0"):
        head, tab, path = row.partition(b"\t")
        if tab and path not in seen:
            seen.add(path)
            mode, name, _ = head.decode("ascii").split()
            yield _blob(mode, name, None, path)


def _blob(mode: str, name: str, size: int | None, path: bytes) -> Blob:
    kind = {"120000": "link", "160000": "module"}.get(mode, "file")
    return Blob(path.decode("utf-8", "surrogateescape"), name, size, kind)


def _git(folder: Path, arguments: Sequence[str], most: int = MOST_LISTING) -> bytes:
    """What git writes to stdout, at most ``most`` bytes. Raises UsageError with git's own first line."""
    import threading

    command = [*GIT, "-C", str(folder), *arguments]
    try:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    except FileNotFoundError:
        raise UsageError("git revisions are read with git, and there is no git on the PATH") from None
    except ValueError as error:  # a NUL in a name
        raise UsageError(f"git cannot be asked for this: {error}") from None
    assert child.stdout is not None
    assert child.stderr is not None
    timer = threading.Timer(SECONDS, child.kill)
    timer.start()
    try:
        out = child.stdout.read(most)
        cut = bool(child.stdout.read(1))
        if cut:
            child.kill()
        said = child.stderr.read(10_000).decode("utf-8", "replace").strip()
        code = child.wait()
    finally:
        slow = not timer.is_alive()
        timer.cancel()
        child.kill()
        child.wait()
        child.stdout.close()
        child.stderr.close()
    if code != 0 and not cut:
        if slow:
            raise UsageError(f"git {arguments[0]} gave no answer within {SECONDS:g} s")
        raise UsageError(said.splitlines()[0] if said else f"git {arguments[0]} failed")
    return out
