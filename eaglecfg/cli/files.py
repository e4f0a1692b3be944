"""Files that commands write: looked at before the work begins, written whole or not at all."""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from eaglecfg.errors import UsageError
from eaglecfg.source.document import Document

LONGEST_HEAD = 4096
ELSEWHERE = "name another file"
"""What to do where a file cannot be written."""

_REPORT = re.compile(
    r"""
    eaglecfg[ ]\d | eaglecfg:[ ]  # text; an error, the summary for GitHub
    | <!--[ ]eaglecfg[ ]report
    | ::(error|warning|notice)[ ]
    | (error|warning|info)\[EC\d | (OK|FAIL|UNREADABLE|INCOMPLETE|INTERNAL[ ]ERROR)[ ]  # quiet text
    | [^\n]+:\d+:\d+:[ ](error|warning|info)\[EC\d | [^\n]+:[ ][^\n]*[ ]→[ ]  # concise
    | \{.{0,2000}"name":[ ]"eaglecfg"  # JSON and SARIF
    | \[\s*\Z | \[\s*\]\Z | \[.{0,2000}"check_name":[ ]"  # GitLab
    """,
    re.VERBOSE | re.DOTALL,
)
"""How reports of any format begin; a report may be written over by one of another format."""


def ready_to_write(targets: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The same targets (format, path), each of which can be written as far as can be told beforehand.

    Raises UsageError.
    """
    seen: set[str] = set()
    for _, name in targets:
        check_writable(name)
        _refuse_other(name)
        real = os.path.realpath(name)
        if real in seen:
            raise UsageError(f"{name} is the output of two formats; give each a file of its own")
        seen.add(real)
    return tuple(targets)


def check_writable(name: str, instead: str = ELSEWHERE) -> None:
    """Raise UsageError where a file ``name`` cannot be made or written over; ``instead`` is the way out."""
    path = Path(name)
    if "\0" in name:
        raise UsageError("a file name cannot hold a zero byte")
    if path.is_dir():
        raise UsageError(f"{name}: a file to write is expected, this is a folder; name a file in it")
    folder = Path(os.path.realpath(name)).parent
    if not folder.is_dir():
        raise UsageError(f"{name}: there is no folder {path.parent} to write it into; make that first")
    _refuse_read_only(path, instead)
    # What is no plain file, as /dev/stderr, is written to in place.
    place = path if path.exists() and not path.is_file() else folder
    if not os.access(place, os.W_OK):
        raise UsageError(f"{name}: {_why_not(place, place.stat(), os.geteuid())}; {instead}")


def _refuse_read_only(path: Path, instead: str = ELSEWHERE) -> None:
    """Raise UsageError where nobody may write a file, though a new one could be put in its place."""
    try:
        found = path.stat()
    except OSError:
        return
    mode, user = stat.S_IMODE(found.st_mode), os.geteuid()
    if not stat.S_ISREG(found.st_mode) or (mode & 0o222 and os.access(path, os.W_OK)):
        return
    own = " or allow it with chmod u+w" if user in (0, found.st_uid) and not mode & 0o200 else ""
    raise UsageError(f"{path}: {_why_not(path, found, user)}; {instead}{',' * bool(own)}{own}")


def _why_not(path: Path, found: os.stat_result, user: int) -> str:
    """Why the user ``user`` may not write what is at ``path``."""
    mode, what = stat.S_IMODE(found.st_mode), "folder" if stat.S_ISDIR(found.st_mode) else "file"
    at = f"the folder {path}" if what == "folder" else "the file"
    if not mode & 0o222 or (user == found.st_uid and not mode & 0o200):
        owner = "" if user in (0, found.st_uid) else f" and belongs to {_name_of(found.st_uid)}"
        return f"{at} is read-only (mode {mode:04o}){owner}"
    with suppress(OSError):
        if os.statvfs(path).f_flag & os.ST_RDONLY:
            return f"{at} is on a file system that is mounted read-only"
    if user != found.st_uid:
        owner, who = _name_of(found.st_uid), _name_of(user)
        return f"{at} belongs to {owner} (mode {mode:04o}), and this user ({who}) may not write there"
    return f"this user may not write there (mode {mode:04o}); see the rights and attributes of {at}"


def _name_of(user: int) -> str:
    """A user's name, or the number of one who has none here."""
    import pwd  # only on the way to a refusal

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"


def _refuse_other(name: str) -> None:
    """Raise UsageError where ``name`` is a file that holds something, and no report of ours."""
    path = Path(name)
    try:
        if not path.is_file():
            return
        with path.open("rb") as file:
            head = file.read(LONGEST_HEAD).decode("utf-8", "replace").strip()
    except OSError:
        return  # what cannot be read is said where it is written
    if head and not _REPORT.match(head):
        raise UsageError(
            f"{name} holds something else than a report of eaglecfg, and is not written over; "
            f"name another file, or remove it"
        )


def inputs_of(documents: Sequence[Document]) -> list[Path]:
    """The files of ``documents``, and every file that a value in them names: configs, prompts, tables."""
    found = [Path(document.folder) / Path(document.name).name for document in documents]
    for document in documents:
        named = {place.text for place in document.places.values() if place.text}
        for text in named:
            path = Path(document.folder) / text
            with suppress(OSError, ValueError):
                if path.is_file():
                    found.append(path)
    return found


def refuse_inputs(names: Collection[str], inputs: Collection[Path]) -> None:
    """Raise UsageError where one of ``names`` is a file that was read, or lies in a folder that was."""
    real = {os.path.realpath(path) for path in inputs}
    for name in names:
        at = os.path.realpath(name)
        inside = any(at.startswith(folder + os.sep) for folder in real) and Path(at).exists()
        if at in real or inside:
            raise UsageError(f"{name} is one of the files that are read; name another file to write")


def write_whole(path: Path, content: bytes) -> None:
    """Put ``content`` into ``path`` in one step, through links, keeping the mode of a file that is there.

    Raises UsageError where the system refuses it.
    """
    try:
        _refuse_read_only(path)
        found = path.stat() if path.exists() else None
        if found is not None and not stat.S_ISREG(found.st_mode):
            path.write_bytes(content)
            return
        real = Path(os.path.realpath(path))
        beside = real.with_name(f".{real.name[:100]}.{secrets.token_hex(4)}")
        try:
            with beside.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if found is not None:
                with suppress(OSError):  # root may work on somebody's file; others own what they write
                    os.chown(beside, found.st_uid, found.st_gid)
                beside.chmod(stat.S_IMODE(found.st_mode))
            beside.replace(real)
        finally:
            with suppress(OSError):
                beside.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"{path}: the file could not be written ({error.strerror or error})") from None
