"""Sizes of memory, as deployments spell them and as findings show them."""

from __future__ import annotations

import re

GIB = 1 << 30
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?\s*", re.IGNORECASE)


def bytes_of(text: str) -> int | None:
    """Bytes behind ``96GiB``, ``80 GB`` or ``81920 MiB``; None where the text is no size."""
    found = _SIZE.fullmatch(text)
    if found is None:
        return None
    number, unit, binary = found.groups()
    return int(float(number) * (1024 if binary else 1000) ** " KMGT".index(unit.upper() or " "))


def gib(size: int) -> str:
    """``59.57 GiB``."""
    return f"{size / GIB:.2f} GiB"
