"""What a GPU's name says about it."""

from __future__ import annotations

from dataclasses import dataclass

from eaglecfg.engines.gpu import gpu_row


@dataclass(frozen=True, slots=True)
class Gpu:
    """``capability`` is the compute capability (9.0). ``consumer``: no peer access over PCIe in the stock
    driver; ``fabric``: NVLink reaches other nodes; ``c2c``: CPU and GPU share a link of their own.
    ``nvlink``: ``none``, ``pair`` where a bridge joins two at most, ``any`` where more may be joined."""

    capability: float
    consumer: bool = False
    fabric: bool = False
    c2c: bool = False
    nvlink: str = "any"

    @property
    def major(self) -> int:
        """9 for Hopper."""
        return int(self.capability)


def gpu_of(name: str | None) -> Gpu | None:
    """The GPU behind a name as people write it (``NVIDIA H200 141GB``, ``RTX PRO 6000``), None where it is
    unknown."""
    row = gpu_row(name)
    if row is None:
        return None
    return Gpu(
        row["cc"],
        row.get("consumer", False),
        row.get("fabric", False),
        row.get("c2c", False),
        row.get("nvlink", "any"),
    )
