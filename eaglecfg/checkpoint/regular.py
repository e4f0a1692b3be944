"""Opening and reading regular files only, without ever waiting for one."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from eaglecfg.checkpoint.facts import FileProblem
from eaglecfg.checkpoint.fault import FileFault, legible

LFS = b"version https://git-lfs"


def stat_file(path: str, shown: str) -> os.stat_result:
    """The stat of a regular file, symlinks followed (hub caches are made of them). Raises FileFault."""
    try:
        found = os.stat(path)  # noqa: PTH116 - hundreds of shards; a Path each is measurable
    except (OSError, ValueError) as error:
        raise FileFault(_absent(path, shown, error)) from None
    if not stat.S_ISREG(found.st_mode):
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "not a regular file"
        raise FileFault(
            FileProblem("not-a-file", shown, f"{shown} is {kind}", "put the real file there", True)
        )
    return found


@contextmanager
def opened(path: str, shown: str) -> Iterator[tuple[int, int]]:
    """A file descriptor and the size in bytes of a regular file. Raises FileFault.

    Not blocking: a pipe put there between the two calls must not hold the reader up.
    """
    stat_file(path, shown)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise FileFault(_absent(path, shown, error)) from None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise FileFault(FileProblem("not-a-file", shown, f"{shown} is not a regular file", "", True))
        yield descriptor, found.st_size
    finally:
        os.close(descriptor)


def read_range(descriptor: int, start: int, length: int, shown: str) -> bytes:
    """Up to ``length`` bytes from ``start``; fewer only at the end of the file. Raises FileFault."""
    parts: list[bytes] = []
    while length > 0:
        try:
            part = os.pread(descriptor, length, start)
        except OSError as error:
            raise FileFault(_unreadable(shown, error)) from None
        if not part:
            break
        parts.append(part)
        start += len(part)
        length -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def read_small(path: str, shown: str, limit: int) -> bytes:
    """All bytes of a file of at most ``limit`` bytes. Raises FileFault."""
    with opened(path, shown) as (descriptor, size):
        if size > limit:
            message = f"{shown} has {size:,} bytes; at most {limit:,} are read"
            raise FileFault(
                FileProblem("not-supported", shown, message, "check that it is the right file", True)
            )
        data = read_range(descriptor, 0, limit + 1, shown)
    if data.startswith(LFS):
        raise FileFault(pointer(shown, len(data)))
    return data


def pointer(shown: str, size: int) -> FileProblem:
    """The problem of a file that Git LFS has not fetched."""
    message = f"{shown} is a Git LFS pointer of {size:,} bytes; the file itself was not fetched"
    return FileProblem(
        "lfs-pointer", shown, message, "run `git lfs pull` in the checkpoint's repository", True
    )


def _absent(path: str, shown: str, error: OSError | ValueError) -> FileProblem:
    if isinstance(error, FileNotFoundError | NotADirectoryError | ValueError):
        if not isinstance(error, ValueError) and os.path.islink(path):  # noqa: PTH114 - as above
            message = f"{shown} is a symlink to {legible(os.readlink(path))}, which is not there"  # noqa: PTH115
            return FileProblem("missing-file", shown, message, "download the checkpoint again", True)
        return FileProblem("missing-file", shown, f"{shown} is not there", "", True)
    return _unreadable(shown, error)


def _unreadable(shown: str, error: OSError) -> FileProblem:
    if error.errno == errno.ELOOP:
        message = f"{shown} is a symlink that leads back to itself"
        return FileProblem("unreadable", shown, message, "put the real file there", True)
    reason = (error.strerror or type(error).__name__).lower()
    return FileProblem(
        "unreadable", shown, f"{shown} cannot be read: {reason}", "check its permissions", True
    )
