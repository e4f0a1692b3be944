"""Floating-point formats as bytes, so that the values of a tensor can be judged at the speed of memory.

Nothing here turns bytes into Python numbers one by one. A value is not finite when certain bits of its
highest bytes are set; slices (``data[1::2]``), ``in``, ``translate`` and whole numbers as sets find those.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

FEW = 256
"""Bytes that are looked at first: in nearly all data they tell that not all is zero."""

FEW_VALUES = 1_500
"""Values of one piece that are picked out one by one; of more it is quicker to look at all."""


class Form(NamedTuple):
    """How a dtype is stored, little-endian. Tuples hold one number for each byte of a value, lowest first.

    A value is not finite if ``byte & masks == bits`` for all its bytes; at most one below the highest has a
    mask other than 0, and all its bits must be set. It is infinite then if no bit of ``mantissa`` is set;
    without a mantissa the format has no infinity. ``zero`` are the bytes that the highest byte of a zero may
    be (the others are 0); empty where the format has no zero. ``code`` is that of struct.
    """

    masks: tuple[int, ...]
    bits: tuple[int, ...]
    mantissa: tuple[int, ...]
    zero: bytes
    code: str = ""

    @property
    def width(self) -> int:
        """Bytes of a value."""
        return len(self.masks)


def _ieee(masks: tuple[int, ...], mantissa: tuple[int, ...], code: str = "") -> Form:
    """A format whose exponent of all ones stands for infinities and NaN."""
    return Form(masks, masks, mantissa, b"\x00\x80", code)


FORMS: Mapping[str, Form] = {
    "F64": _ieee((0,) * 6 + (0xF0, 0x7F), (0xFF,) * 6 + (0x0F, 0), "d"),
    "F32": _ieee((0, 0, 0x80, 0x7F), (0xFF, 0xFF, 0x7F, 0), "f"),
    "BF16": _ieee((0x80, 0x7F), (0x7F, 0)),
    "F16": _ieee((0, 0x7C), (0xFF, 0x03), "e"),
    "F8_E5M2": _ieee((0x7C,), (0x03,)),
    # One pattern is NaN, and nothing is infinite.
    "F8_E4M3": Form((0x7F,), (0x7F,), (), b"\x00\x80"),
    "F8_E4M3FNUZ": Form((0xFF,), (0x80,), (), b"\x00"),
    "F8_E5M2FNUZ": Form((0xFF,), (0x80,), (), b"\x00"),
    "F8_E8M0": Form((0xFF,), (0xFF,), (), b""),
}
"""dtype -> form, for the dtypes whose values are judged: whole numbers and packed formats are not."""


class Judge:
    """Judges values of one form. All data are whole values."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.width = form.width
        self._high = [
            bytes([byte]) for byte in range(256) if byte & form.masks[-1] == form.bits[-1]
        ]  # what the highest byte of a value that is not finite may be
        below = [at for at in range(self.width - 1) if form.masks[at]]  # one byte at most
        self._next = below[0] if below else None
        need = form.masks[below[0]] if below else 1
        # What a byte says is one bit. Where one bit of the lower byte counts, the byte can stay as it is.
        self._mark = need if need.bit_count() == 1 else 1
        self._highest = _table(form.masks[-1], form.bits[-1], self._mark)
        self._lower = _table(need, need, self._mark) if need != self._mark else None
        self._rest = {
            at: bytes(self._mark if byte & mask else 0 for byte in range(256))
            for at, mask in enumerate(form.mantissa)
            if mask
        }

    def odd(self, data: bytes) -> tuple[int, int]:
        """How many values are NaN, and how many infinite."""
        high = data[self.width - 1 :: self.width] if self.width > 1 else data
        if not any(map(high.__contains__, self._high)):
            return 0, 0
        few = self._few(data, high)
        if few is not None:
            data, high = few, few[self.width - 1 :: self.width]
        odd = _bits(high.translate(self._highest))
        if self._next is not None:
            lower = data[self._next :: self.width]
            odd &= _bits(lower if self._lower is None else lower.translate(self._lower))
        if not odd:
            return 0, 0  # merely huge
        count = odd.bit_count()
        if not self._rest:
            return count, 0
        for at, table in self._rest.items():
            odd &= ~_bits(data[at :: self.width].translate(table))
        infinite = odd.bit_count()
        return count - infinite, infinite

    def _few(self, data: bytes, high: bytes) -> bytes | None:
        """The values that may not be finite, where they are few: only those have to be looked at closely."""
        found: list[int] = []
        for byte in self._high:
            at = high.find(byte)
            while at >= 0:
                found.append(at * self.width)
                if len(found) > FEW_VALUES:
                    return None
                at = high.find(byte, at + 1)
        return b"".join([data[at : at + self.width] for at in found])

    def all_zero(self, data: bytes) -> bool:
        """Whether every value is 0 or -0."""
        zero = self.form.zero
        if not zero or data[:FEW].strip(zero):
            return False
        high = data[self.width - 1 :: self.width]
        return sum(map(high.count, zero)) == len(high) and all(
            data[at :: self.width].count(0) == len(high) for at in range(self.width - 1)
        )

    def zeros_first(self, data: bytes) -> int:
        """How many values from the first on are zero."""
        return self._settled(data, (len(data) - len(data.lstrip(b"\x00\x80"))) // self.width, first=True)

    def zeros_last(self, data: bytes) -> int:
        """How many values up to the last are zero."""
        return self._settled(data, (len(data) - len(data.rstrip(b"\x00\x80"))) // self.width, first=False)

    def _settled(self, data: bytes, most: int, *, first: bool) -> int:
        """The largest number of zeros at one end, of at most ``most``, by halving."""
        low = 0
        while low < most:
            middle = (low + most + 1) // 2
            part = data[: middle * self.width] if first else data[len(data) - middle * self.width :]
            if self.all_zero(part):
                low = middle
            else:
                most = middle - 1
        return low

    def number(self, value: bytes) -> str:
        """One value as a person reads it."""
        if self.form.code:
            return f"{struct.unpack('<' + self.form.code, value)[0]:g}"
        if self.form is FORMS["BF16"]:
            return f"{struct.unpack('<f', bytes(2) + value)[0]:g}"
        return "0" if self.all_zero(value) else f"0x{value[::-1].hex()}"


@cache
def judge_of(dtype: str) -> Judge:
    """The judge of a dtype of FORMS."""
    return Judge(FORMS[dtype])


def _table(mask: int, bits: int, mark: int) -> bytes:
    return bytes(mark if byte & mask == bits else 0 for byte in range(256))


def _bits(data: bytes) -> int:
    """Bytes as a set of bits."""
    return int.from_bytes(data, "little")
