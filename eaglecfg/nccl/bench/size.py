"""The message sizes of a benchmark: given in bytes, or worked out from a deployment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from eaglecfg.errors import UsageError
from eaglecfg.record import record

MOST_BYTES = 1 << 30
MOST_SIZES = 64
MOST_COUNT = 1_000_000
_SIZE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*(B|KiB|MiB|GiB|K|M|G|KB|MB|GB)?", re.IGNORECASE)
_UNIT = {"": 1, "b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}

DTYPE_BYTES = {"bfloat16": 2, "float16": 2, "float32": 4}
SHORT_DTYPE = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "half": "float16",
    "fp32": "float32",
    "float": "float32",
}


@record
class Size:
    """A message. ``what`` says in the deployment's terms whose it is, empty for a size that was given."""

    bytes: int
    what: str = ""


@record
class Shape:
    """What decides the messages of a deployment. ``hidden`` and ``draft_hidden``: widths of the residual
    streams, None where they are not known; ``draft_tokens`` 1 and ``topk`` 0 without speculation."""

    hidden: int
    draft_hidden: int | None
    draft_tokens: int
    topk: int
    dtype: str


def parse_sizes(given: Iterable[str]) -> tuple[Size, ...]:
    """``56KiB,1MiB`` and the like, rising, each once. Raises UsageError."""
    found = {_bytes(part.strip()) for text in given for part in text.split(",")}
    return bounded(Size(value) for value in sorted(found))


def parse_counts(given: Sequence[str], option: str) -> tuple[int, ...]:
    """``1,8,32`` as whole numbers above zero, rising. Raises UsageError."""
    out = set()
    for part in (piece.strip() for text in given for piece in text.split(",")):
        if not (part.isascii() and part.isdecimal() and part.strip("0")):
            raise UsageError(f"{option} takes whole numbers above zero, such as 1,8, got {part or 'nothing'}")
        if len(part.lstrip("0")) > len(str(MOST_COUNT)) or int(part) > MOST_COUNT:
            raise UsageError(f"{option} takes numbers up to {MOST_COUNT:,}, got {part}")
        out.add(int(part))
    return tuple(sorted(out))


def shape_sizes(shape: Shape, batches: Sequence[int]) -> tuple[Size, ...]:
    """Bytes of one all-reduce of the target's verify, and of the draft's steps, for each batch size.

    Verify: batch x draft tokens x hidden x element. The draft: batch x topk x hidden in a step, batch x draft
    tokens x hidden where it takes up what was accepted. Equal sizes are one message.
    """
    element = DTYPE_BYTES[shape.dtype]
    told: dict[int, list[str]] = {}
    verify = "verify" if shape.topk else "decode"
    for batch in batches:
        told.setdefault(batch * shape.draft_tokens * shape.hidden * element, []).append(
            f"{verify} at batch {batch}"
        )
    for batch in batches if shape.topk and shape.draft_hidden else ():
        width = (shape.draft_hidden or 0) * element
        told.setdefault(batch * shape.topk * width, []).append(f"draft step at batch {batch}")
        told.setdefault(batch * shape.draft_tokens * width, []).append(f"draft extend at batch {batch}")
    return bounded(Size(count, ", ".join(told[count])) for count in sorted(told))


def bounded(sizes: Iterable[Size]) -> tuple[Size, ...]:
    """The sizes, if they can be measured. Raises UsageError."""
    out = tuple(sizes)
    if len(out) > MOST_SIZES:
        raise UsageError(f"up to {MOST_SIZES} message sizes can be measured in one run, got {len(out)}")
    for size in out:
        if size.bytes > MOST_BYTES:
            whose = f" ({size.what})" if size.what else ""
            most = size_words(MOST_BYTES)
            raise UsageError(
                f"a message of {size_words(size.bytes)}{whose} is more than {most}, the most that is measured"
            )
    return out


def fitting(sizes: Sequence[Size], dtype: str) -> None:
    """Raise UsageError for a size that is no whole number of elements."""
    for size in sizes:
        if size.bytes % DTYPE_BYTES[dtype]:
            raise UsageError(f"{size.bytes} bytes are no whole number of {dtype} elements")


def read_dtype(text: str) -> str:
    """torch's name of a dtype that is measured. Raises UsageError."""
    name = SHORT_DTYPE.get(text, text)
    if name not in DTYPE_BYTES:
        raise UsageError(f"expected a dtype of {', '.join(DTYPE_BYTES)}, got {text}")
    return name


def size_words(count: int) -> str:
    """``56 KiB``, ``1.75 MiB``, ``1000 B``: exact, or in bytes."""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= scale and (count * 100) % scale == 0:
            return f"{count / scale:.2f}".rstrip("0").rstrip(".") + f" {unit}"
    return f"{count} B"


def whole(value: Any) -> int | None:
    """``value`` where it is a whole number above zero."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _bytes(text: str) -> int:
    found = _SIZE.fullmatch(text)
    unit = (found[2] or "").lower() if found else ""
    if found is not None and unit and unit not in _UNIT:
        letter = unit[0].upper()
        raise UsageError(
            f"--bytes {text}: write {found[1]}{letter}iB ({letter}iB is 1024-based, {unit} is not clear)"
        )
    count = float(found[1]) * _UNIT[unit] if found is not None else 0.0
    if count < 1 or not count.is_integer():
        raise UsageError(
            f"--bytes takes whole byte counts such as 57344, 56KiB or 1.75MiB, got {text or 'nothing'}"
        )
    return int(count)
