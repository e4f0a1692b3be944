"""Logs in NCCL's own formats, and what is read from them."""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping, Sequence

from eaglecfg.nccl.log.judge import Asked, Verdict, judge
from eaglecfg.nccl.log.model import NcclLog
from eaglecfg.nccl.log.summary import read_log
from eaglecfg.tune.standin.nccl_lines import nccl_lines

EVERYTHING = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,ENV,TUNING,COLL,GRAPH"}


def written(ranks: int = 2, pid: int = 100, /, **variables: str) -> list[str]:
    """What a job with these variables writes."""
    return nccl_lines({**EVERYTHING, **variables}, ranks, pid)


def read(lines: Sequence[str] | bytes, subsystems: Collection[str] = ()) -> NcclLog:
    """The report of a log of these lines."""
    raw = lines if isinstance(lines, bytes) else ("\n".join(lines) + "\n").encode()
    return read_log([("log", io.BytesIO(raw))], subsystems=subsystems)


def said(*texts: str, pid: int = 7, device: int = 0, level: str = "INFO") -> list[str]:
    """Messages of one process, with NCCL's head."""
    return [f"box:{pid}:{pid} [{device}] NCCL {level} {text}" for text in texts]


def verdict(name: str, text: str, log: NcclLog, sees: str | None = "", why: str = "") -> Verdict:
    """The verdict on one setting; ``sees`` is the same as ``text`` where it is not given."""
    asked = Asked(name, text, text if sees == "" else sees, why, "2.27.5")
    (found,) = judge([asked], log)
    return found


def verdicts(variables: Mapping[str, str], log: NcclLog) -> dict[str, Verdict]:
    """The verdicts on several settings by name."""
    asked = [Asked(name, text, text, version="2.27.5") for name, text in variables.items()]
    return {one.name: one for one in judge(asked, log)}
