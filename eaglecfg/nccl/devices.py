"""CUDA_VISIBLE_DEVICES as CUDA and torch read it (torch/cuda/__init__.py, _parse_visible_devices)."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Visible:
    """``entries``: the GPUs that a process sees, as they are listed. ``why``: what ends or empties the list,
    empty where all of it counts."""

    entries: tuple[str, ...]
    why: str = ""


def visible(text: str, count: int | None = None) -> Visible:
    """The GPUs that ``text`` shows of the ``count`` on a host; indices are not bounded where that is None."""
    if not text.strip():
        return Visible((), "it is empty, which shows no GPU")
    start = next((prefix for prefix in ("GPU-", "MIG-") if text.startswith(prefix)), "")
    seen: list[str] = []
    for part in text.split(","):
        entry, fault = _entry(part, start, count)
        if fault:
            return Visible(tuple(seen), fault)
        if entry in seen:
            return Visible((), f"{entry} is listed twice, which leaves no GPU at all")
        seen.append(entry)
    odd = next((part.strip() for part in text.split(",") if not start and not part.strip().isdigit()), "")
    return Visible(
        tuple(seen), f"{odd} is read as {_number(odd)}; entries stand between commas" if odd else ""
    )


def _entry(part: str, start: str, count: int | None) -> tuple[str, str]:
    """(the entry, why it ends the list)."""
    plain = part.strip()
    if start:
        return plain, "" if part.startswith(
            start
        ) else f"'{part}' does not begin with {start}, and ends the list"
    number = _number(plain)
    if number is None:
        return "", f"'{plain}' is no number, and ends the list" if plain else "an empty entry ends the list"
    if number < 0:
        return "", f"{plain} ends the list"
    if count is not None and number >= count:
        return "", f"there is no GPU {number} among {count} (0 to {count - 1}), and that ends the list"
    return str(number), ""


def _number(text: str) -> int | None:
    found = re.match(r"[+-]?[0-9]{1,9}", text)
    return int(found[0]) if found else None
