"""What NCCL chose for each message size, from the log of an untimed launch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from eaglecfg.record import record

_LINE = re.compile(
    r"AllReduce: (?P<bytes>\d+) Bytes -> Algo (?P<algo>\w+) proto (?P<proto>\w+)"
    r"(?: channel\{Lo\.\.Hi\}=\{(?P<low>\d+)\.\.(?P<high>\d+)\})?"
)
_NAMES = {"RING": "Ring", "TREE": "Tree", "SIMPLE": "Simple", "LL": "LL", "LL128": "LL128"}


@record
class Choice:
    """The algorithm and protocol of one size, as NCCL names them, and how many channels (None: not told)."""

    algorithm: str
    protocol: str
    channels: int | None

    def __str__(self) -> str:
        words = f"{self.algorithm} {self.protocol}"
        return words if self.channels is None else f"{words} x{self.channels}"


def choices(log: str, sizes: Iterable[int]) -> Mapping[int, Choice]:
    """Bytes -> the choice, for those ``sizes`` that the log tells of; of several the last."""
    wanted, out = set(sizes), {}
    for found in _LINE.finditer(log):
        count = int(found["bytes"])
        if count in wanted:
            channels = int(found["high"]) - int(found["low"]) + 1 if found["high"] else None
            algorithm, protocol = found["algo"], found["proto"]
            out[count] = Choice(_NAMES.get(algorithm, algorithm), _NAMES.get(protocol, protocol), channels)
    return out
