"""Leases of GPUs among the users of a machine: one locked file per UUID, held as long as the process
lives."""

from __future__ import annotations

import contextlib
import datetime
import errno
import fcntl
import json
import os
import platform
import pwd
import stat
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from eaglecfg.errors import UsageError
from eaglecfg.tune.gpu import Gpu
from eaglecfg.tune.process import identity_of

LEASES = Path("/tmp/eaglecfg-leases")
"""One folder for all users, whatever their TMPDIR. A container has a /tmp of its own: there the look at the
GPU before each launch has to do, or EAGLECFG_LEASES names a folder that containers share."""

VARIABLE = "EAGLECFG_LEASES"

FOR_ALL_FOLDER, FOR_ALL_FILE = 0o1777, 0o666


class NotHeld(Exception):
    """Leases cannot be kept here, and why."""


class Leases:
    """The GPUs that this process has leased for one study, or for another ``kind`` of work.

    A lease is a lock of the kernel (flock) on a file named after the GPU's UUID: it ends with the process,
    however that ends, and is not inherited by servers. What the file says (who holds it) is for the message
    alone.
    """

    def __init__(self, study: str, folder: Path = LEASES, kind: str = "study") -> None:
        self.study, self.folder, self.kind = study, folder, kind
        self._held: dict[str, int] = {}

    @property
    def held(self) -> tuple[str, ...]:
        """UUIDs of the leased GPUs."""
        return tuple(self._held)

    def take(self, gpus: Iterable[Gpu]) -> None:
        """Lease those GPUs that are not yet. Raises UsageError where another process has one, naming it, and
        NotHeld where this machine has no place for leases."""
        for gpu in gpus:
            if gpu.uuid in self._held:
                # What sweeps /tmp by age leaves alone what was touched lately.
                with contextlib.suppress(OSError):
                    os.utime(self._held[gpu.uuid])
                continue
            try:
                self._held[gpu.uuid] = self._lock(gpu)
            except OSError as error:
                raise NotHeld(f"{error.filename or self.folder}: {error.strerror}") from error

    def release(self) -> None:
        """Give all back."""
        while self._held:
            _, handle = self._held.popitem()
            with contextlib.suppress(OSError):
                os.ftruncate(handle, 0)
            # Not by closing alone: a process just forked has the file open until it runs its program.
            fcntl.flock(handle, fcntl.LOCK_UN)
            os.close(handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _lock(self, gpu: Gpu) -> int:
        make_folder(self.folder)
        path = self.folder / f"{file_name(gpu.uuid)}.lock"
        while True:
            handle = open_for_all(path)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = read_holder(handle)
                os.close(handle)
                raise UsageError(
                    f"GPU {gpu.index} ({gpu.uuid}) is leased by {words_of(holder)}: wait for it, or "
                    f"give this {self.kind} other GPUs with CUDA_VISIBLE_DEVICES."
                ) from None
            except OSError:
                os.close(handle)
                raise
            if same_file(handle, path):
                self._sign(handle)
                return handle
            os.close(handle)  # it was removed meanwhile: the lock would be on nothing

    def _sign(self, handle: int) -> None:
        about = {
            "study": self.study,
            "kind": self.kind,
            "pid": os.getpid(),
            "identity": identity_of(os.getpid()),
            "user": user_name(),
            "host": platform.node(),
            "since": round(time.time()),
        }
        # Not ours to write (another user's umask), or a full disk: the lock holds all the same.
        with contextlib.suppress(OSError):
            os.ftruncate(handle, 0)
            os.pwrite(handle, json.dumps(about).encode(), 0)


def make_folder(folder: Path) -> None:
    """Make the folder for all users. Raises OSError where it cannot be, or where something else is there."""
    try:
        folder.mkdir()
        folder.chmod(FOR_ALL_FOLDER)
    except FileExistsError:
        if not stat.S_ISDIR(folder.lstat().st_mode):
            raise NotADirectoryError(errno.ENOTDIR, "is no folder", str(folder)) from None


def open_for_all(path: Path) -> int:
    """Open a lock file that any user may have made, without following links.

    Not created in one go with opening: in a folder that all may write to, kernels refuse O_CREAT on what
    another user made (fs.protected_regular).
    """
    flags = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    while True:
        try:
            handle = os.open(path, os.O_RDWR | flags)
        except FileNotFoundError:
            try:
                handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | flags, FOR_ALL_FILE)
            except FileExistsError:
                continue
            os.fchmod(handle, FOR_ALL_FILE)
        except PermissionError:
            handle = os.open(path, os.O_RDONLY | flags)  # a lock needs no more
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode) or about.st_nlink > 1:
            os.close(handle)
            raise OSError(errno.EINVAL, "is no plain file of leases", str(path))
        return handle


def same_file(handle: int, path: Path) -> bool:
    """Whether ``path`` still names what is open."""
    try:
        now = path.lstat()
    except OSError:
        return False
    then = os.fstat(handle)
    return (now.st_dev, now.st_ino) == (then.st_dev, then.st_ino)


def file_name(uuid: str) -> str:
    """A UUID as a file name."""
    return "".join(letter if letter.isalnum() or letter == "-" else "_" for letter in uuid) or "unnamed"


def read_holder(handle: int) -> dict[str, Any]:
    """What the holder wrote; empty where it could not write."""
    with contextlib.suppress(OSError, ValueError):
        about = json.loads(os.pread(handle, 4096, 0))
        if isinstance(about, dict):
            return about
    return {}


def words_of(holder: dict[str, Any]) -> str:
    """Who holds a lease."""
    pid = holder.get("pid")
    if not isinstance(pid, int):
        return "another process"
    since = holder.get("since")
    when = ""
    if isinstance(since, int):
        with contextlib.suppress(OverflowError, OSError, ValueError):
            when = f", since {datetime.datetime.fromtimestamp(since):%Y-%m-%d %H:%M}"
    host = holder.get("host")
    there = f" on {host}" if host and host != platform.node() else ""
    what = f"{holder.get('kind', 'study')} {holder.get('study')}"
    return f"the {what} (pid {pid}{there}, user {holder.get('user')}{when})"


def user_name() -> str:
    """Who runs this; the number where it has no name, as in many containers."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
