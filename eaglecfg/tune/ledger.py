"""The append-only record of a study: one checksummed JSON object per line, one writing process at a time."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from eaglecfg.errors import EaglecfgError, UsageError

SUM_LENGTH = 16
"""Hex digits of SHA-256 kept per line: 64 bits, far beyond what chance damage passes."""


class LedgerDamaged(EaglecfgError):
    """A line before the last one does not hold what was written there."""

    exit_code = 2


LEDGER = "ledger.jsonl"
"""The name of a ledger in the folder of its study."""


@dataclass(frozen=True, slots=True)
class Event:
    """One line: ``seq`` counts from 1, ``kind`` names it, ``at`` is seconds since the epoch."""

    seq: int
    kind: str
    at: float
    data: Mapping[str, Any]


def last_session(events: Sequence[Event]) -> Event | None:
    """The event with which the study was begun or resumed last."""
    return next((event for event in reversed(events) if event.kind == "session"), None)


def _sum(previous: str, body: str) -> str:
    return hashlib.sha256(f"{previous}\n{body}".encode()).hexdigest()[:SUM_LENGTH]


def _frame(previous: str, event: Event) -> tuple[str, str]:
    """The line (without newline) and its checksum, which covers the line before: a lost line shows too."""
    body = json.dumps(
        {"seq": event.seq, "kind": event.kind, "at": event.at, "data": dict(event.data)},
        ensure_ascii=True,
        separators=(",", ":"),
        sort_keys=True,
        allow_nan=False,
    )
    checksum = _sum(previous, body)
    return f'{{"sum":"{checksum}","event":{body}}}', checksum


def _unframe(previous: str, line: bytes) -> tuple[Event, str] | None:
    head = len('{"sum":"') + SUM_LENGTH
    text = line.decode("ascii", errors="replace")
    if not text.startswith('{"sum":"') or text[head : head + 10] != '","event":' or not text.endswith("}"):
        return None
    checksum, body = text[head - SUM_LENGTH : head], text[head + 10 : -1]
    if _sum(previous, body) != checksum:
        return None
    raw = json.loads(body)
    return Event(raw["seq"], raw["kind"], raw["at"], raw["data"]), checksum


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a ledger file holds. ``good_bytes`` reach to the end of the last whole line, ``torn`` follow."""

    events: tuple[Event, ...]
    last_sum: str
    good_bytes: int
    torn: int
    unended: bool


def scan(raw: bytes, name: str) -> Recorded:
    """Read a ledger's bytes. Raises LedgerDamaged for a bad line that is not the last one."""
    events: list[Event] = []
    last, good = "", 0
    lines = raw.split(b"\n")
    for number, line in enumerate(lines, 1):
        final = number == len(lines)
        if final and not line:
            break
        found = _unframe(last, line)
        if found is None:
            if any(rest for rest in lines[number:]):
                raise LedgerDamaged(
                    f"{name}:{number}: this line is not what was written there (its checksum differs), "
                    f"and more lines follow it; restore the file from a copy, or start anew with --out."
                )
            return Recorded(tuple(events), last, good, len(raw) - good, False)
        events.append(found[0])
        last = found[1]
        good = min(good + len(line) + 1, len(raw))
    return Recorded(tuple(events), last, good, 0, bool(raw) and not raw.endswith(b"\n"))


def read_ledger(path: Path) -> tuple[Event, ...]:
    """The events of a ledger, without taking the lock: for looking on from another process."""
    try:
        return scan(path.read_bytes(), str(path)).events
    except FileNotFoundError:
        return ()


class Ledger:
    """A ledger open for writing. Holds an exclusive lock until closed or until the process dies."""

    def __init__(self, path: Path) -> None:
        """Open or create ``path``. A torn last line is cut off and said in ``note``.

        Raises UsageError where another process writes it, LedgerDamaged where the middle is broken.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.note = ""
        created = not path.exists()
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            self._lock()
            recorded = scan(path.read_bytes(), str(path))
            self._repair(recorded)
        except BaseException:
            os.close(self._fd)
            raise
        if created:
            _sync_folder(path.parent)
        self.events: list[Event] = list(recorded.events)
        self._last = recorded.last_sum

    def _lock(self) -> None:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(
                f"{self.path}: another process is running this study; "
                f"wait for it, or give --out another folder."
            ) from None

    def _repair(self, recorded: Recorded) -> None:
        if recorded.torn:
            os.ftruncate(self._fd, recorded.good_bytes)
            os.fsync(self._fd)
            self.note = f"the last line of {self.path} was cut short ({recorded.torn} bytes) and is dropped"
        elif recorded.unended:
            os.write(self._fd, b"\n")
            os.fsync(self._fd)

    def append(self, kind: str, at: float, **data: Any) -> Event:
        """Write one event and return after it is on disk. A write that fails leaves the file as it was."""
        event = Event(self.events[-1].seq + 1 if self.events else 1, kind, round(at, 3), data)
        line, checksum = _frame(self._last, event)
        raw = line.encode("ascii") + b"\n"
        before = os.fstat(self._fd).st_size
        try:
            written = 0
            while written < len(raw):
                written += os.write(self._fd, raw[written:])
            os.fsync(self._fd)
        except OSError as error:
            os.ftruncate(self._fd, before)
            raise EaglecfgError(
                f"{self.path}: the study's record cannot be written ({error.strerror}); "
                f"nothing finished is lost, free the disk and run the same command again."
            ) from error
        self.events.append(event)
        self._last = checksum
        return event

    def of_kind(self, *kinds: str) -> Sequence[Event]:
        """Events of these kinds, oldest first."""
        return [event for event in self.events if event.kind in kinds]

    def close(self) -> None:
        """Release the lock."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _sync_folder(folder: Path) -> None:
    """Make a new file's name durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
