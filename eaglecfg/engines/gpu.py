"""What the name of a GPU says about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from eaglecfg.schema_files import read_schema


@cache
def gpu_row(name: str | None) -> Mapping[str, Any] | None:
    """The row of ``gpus.json`` behind a name as people write it (``NVIDIA H200 141GB``, ``RTX PRO 6000``).

    None where it is unknown. The longest key that the name contains wins.
    """
    if not name:
        return None
    plain = re.sub(r"[^A-Z0-9]", "", name.upper())
    table: Mapping[str, Any] = _table()
    found = max((key for key in table if key in plain), key=len, default=None)
    return None if found is None else table[found]


def is_amd(name: str) -> bool:
    """Whether the GPU called ``name`` is one of AMD's (``MI300X``)."""
    return re.search(r"\bMI\d{2,3}[A-Z]?\b", name, re.IGNORECASE) is not None


def capability_major(name: str | None) -> int | None:
    """The major compute capability of the GPU called ``name`` (9 for an H200), None where it is unknown."""
    row = gpu_row(name)
    return None if row is None else int(row["cc"])


@cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = read_schema("nccl", "gpus.json")["gpus"]
    return table
