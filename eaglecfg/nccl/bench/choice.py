"""What NCCL chose for each message size, and whether a setting acted, from the log of an untimed launch."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from eaglecfg.nccl.bench.setting import Setting
from eaglecfg.record import record

if TYPE_CHECKING:
    from eaglecfg.nccl.log.model import NcclLog

SHOWN_BY_CHOICE = frozenset(
    (
        "NCCL_ALGO",
        "NCCL_PROTO",
        "NCCL_MIN_NCHANNELS",
        "NCCL_MAX_NCHANNELS",
        "NCCL_MIN_CTAS",
        "NCCL_MAX_CTAS",
    )
)
"""Variables that cannot change anything but algorithm, protocol and channels."""


@record
class Choice:
    """Algorithm and protocol of one size, or the kernel that stands for both; how many channels (None: not
    told)."""

    algorithm: str
    protocol: str
    channels: int | None

    def __str__(self) -> str:
        words = f"{self.algorithm} {self.protocol}".rstrip()
        return words if self.channels is None else f"{words}, {self.channels} ch"


def read_rank_log(text: str) -> NcclLog:
    """What rank 0 wrote, read."""
    from eaglecfg.nccl.log.summary import read_log

    return read_log([("rank 0", io.BytesIO(text.encode("utf-8", "replace")))])


def choices(log: NcclLog, sizes: Iterable[int]) -> Mapping[int, Choice]:
    """Bytes -> the choice, for those ``sizes`` that the log tells of; of several the most frequent."""
    wanted = set(sizes)
    most: dict[int, int] = {}
    out: dict[int, Choice] = {}
    for each in log.choices:
        if (
            each.bytes not in wanted
            or each.function not in ("AllReduce", "")
            or each.count <= most.get(each.bytes, 0)
        ):
            continue
        most[each.bytes] = each.count
        channels = each.channels[1] - each.channels[0] + 1 if each.channels is not None else None
        algorithm = each.kernel or each.engine or each.algorithm
        out[each.bytes] = Choice(algorithm, "" if each.kernel or each.engine else each.protocol, channels)
    return out


def not_acted(setting: Setting, log: NcclLog) -> tuple[str, ...]:
    """Why variables of a setting demonstrably did not do what they say, one clause each."""
    from eaglecfg.nccl.log.judge import Asked, judge

    asked = [Asked(name, text, text) for name, text in setting.variables.items() if name.startswith("NCCL_")]
    return tuple(
        f"{each.name}={each.asked} {each.status}: {each.why}" for each in judge(asked, log) if each.failed
    )
