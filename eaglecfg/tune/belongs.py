"""Whose record a folder holds: two study files never write one ledger, not even one after the other."""

from __future__ import annotations

import os.path
from collections.abc import Sequence
from pathlib import Path

from eaglecfg.errors import UsageError
from eaglecfg.tune.ledger import LEDGER, Event, last_session
from eaglecfg.tune.opened import Opened


def file_of(opened: Opened) -> dict[str, str]:
    """The study's file as a session keeps it: ``path``, and how it is found from the config's folder, which
    is the same once a whole folder was moved or copied."""
    path = _path(opened)
    return {"path": str(path), "from_config": os.path.relpath(path, opened.base_folder.resolve())}


def refuse_record_of_another(opened: Opened, events: Sequence[Event]) -> None:
    """Raise UsageError where the record was begun by another study file that is still there.

    A file that was renamed or moved has gone from where it was, and goes on with its record. Records of
    before this was kept belong to whoever names them.
    """
    session = last_session(events)
    known = session.data.get("file") if session is not None else None
    if known is None:
        return
    own, there = _path(opened), Path(known["path"])
    beside = opened.base_folder.resolve() / known["from_config"]
    if _same(beside, own) or _same(there, own):
        return
    other = next((path for path in (there, beside) if path.exists()), None)
    if other is not None:
        raise UsageError(
            f"{opened.folder / LEDGER}: expected the record of {own}, got that of {other}; two studies do "
            f"not share one: give --out another folder."
        )


def _path(opened: Opened) -> Path:
    return (Path(opened.document.folder) / Path(opened.document.name).name).resolve()


def _same(one: Path, other: Path) -> bool:
    return one.exists() and one.samefile(other)
