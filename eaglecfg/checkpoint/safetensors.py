"""What a safetensors header says, held against the rules of the format and against the size of its file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from eaglecfg.checkpoint.dtypes import BITS
from eaglecfg.checkpoint.facts import FileProblem
from eaglecfg.checkpoint.fault import legible, listed
from eaglecfg.checkpoint.header import RawHeader
from eaglecfg.checkpoint.limits import MAX_RANK, MAX_REPEATED, MAX_TENSORS
from eaglecfg.checkpoint.strictjson import JsonFault, decode, kind_of, loads, refuse_half_characters

METADATA = "__metadata__"
FIELDS = frozenset({"dtype", "shape", "data_offsets"})
TOO_MANY = 1 << 63
"""Elements or bytes beyond this overflow the counters of every reader."""

Entry = tuple[str, tuple[int, ...], int, int]
"""dtype, shape in elements, first and end byte relative to the data region."""


@dataclass(slots=True)
class Header:
    """Tensors of one file by name, and what is wrong with it. If ``malformed``, ``entries`` are empty."""

    shown: str
    start: int
    entries: dict[str, Entry] = field(default_factory=dict)
    malformed: bool = False
    problems: list[FileProblem] = field(default_factory=list)

    def add(
        self,
        kind: str,
        message: str,
        *,
        help: str = "",
        incomplete: bool = False,
        key: str = "",
        text: str = "",
    ) -> None:
        """Note a problem of this file; ``message`` goes on after the file's name."""
        self.problems.append(
            FileProblem(kind, self.shown, f"{self.shown} {message}", help, incomplete, key, text)
        )


def parse_header(raw: RawHeader, shown: str) -> Header:
    """Check everything that the format demands. Never raises: what is wrong is in ``problems``."""
    header = Header(shown, raw.start)
    try:
        top, text = _parse(raw.data, header)
        header.entries = _entries(top, header)
        doubtful = "\\" in text or text.count('"') != _quotes(top)
        del top  # as large as what a second look at the text may need
        if doubtful:
            _judge_repeated(_all_repeated(text), header)
        _check_layout(header, raw.size)
    except _Malformed as fault:
        header.entries, header.malformed = {}, True
        header.add(fault.kind, fault.message, help=AGAIN, incomplete=True, key=fault.key, text=fault.text)
    return header


AGAIN = "write the file again with the safetensors library, or download it again"


class _Malformed(Exception):
    def __init__(self, message: str, key: str = "", text: str = "", kind: str = "malformed") -> None:
        super().__init__(message)
        self.message, self.key, self.text, self.kind = message, key, text, kind


def _parse(data: bytes, header: Header) -> tuple[dict[str, Any], str]:
    """The top-level object, and the text that it was read from. Raises _Malformed."""
    _bound(data)
    if not data.startswith(b"{"):
        stripped = data.lstrip(b" \t\r\n")
        if not stripped.startswith(b"{"):
            raise _Malformed(
                f"has a header that begins with {data[:8]!r} at byte 8, not with {{", "byte 8", str(data[:8])
            )
        header.add("odd-header", "has white space before its header at byte 8", key="byte 8")
    try:
        text = decode(data)
        top = loads(text)
        if "\\" in text:
            refuse_half_characters(text)
    except JsonFault as fault:
        raise _Malformed(f"has a header that {fault.message}", fault.place) from None
    if not isinstance(top, dict):
        raise _Malformed(f"has a header that is {kind_of(top)}, not an object", "byte 8")
    return top, text


def _quotes(top: Mapping[str, Any]) -> int:
    """Quotes in the text of a proper header: five strings for each tensor, two for each line of metadata.

    Where the text has more, the parser dropped something, which only keys that stand twice make it do.
    Counting takes a tenth of the time of looking at every pair of every object.
    """
    metadata = top.get(METADATA)
    if isinstance(metadata, dict):
        return 10 * (len(top) - 1) + 2 + 4 * len(metadata)
    return 10 * len(top)


def _all_repeated(text: str) -> list[tuple[str, str]]:
    repeated: list[tuple[str, str]] = []

    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        out = dict(pairs)
        if len(out) != len(pairs) and len(repeated) < MAX_REPEATED:
            repeated.extend(islice(_repeated(pairs), MAX_REPEATED))
        return out

    loads(text, object_pairs_hook=build)
    return repeated


def _bound(data: bytes) -> None:
    """Refuse headers that are cheap to write and dear to parse, before they are parsed.

    A tensor needs five texts, three brackets and, of up to five dimensions, eight commas.
    """
    texts, brackets = data.count(b'"') // 2, data.count(b"[") + data.count(b"{")
    if texts > 5 * MAX_TENSORS or brackets > 3 * MAX_TENSORS or data.count(b",") > 8 * MAX_TENSORS:
        raise _Malformed(f"has a header with more parts than {MAX_TENSORS:,} tensors need")


def _repeated(pairs: list[tuple[str, Any]]) -> Iterator[tuple[str, str]]:
    """Keys that stand twice in one object, with what they are, as told by the values around them."""
    kind = "field"
    if any(isinstance(value, dict) for _, value in pairs):
        kind = "tensor"  # only the outermost object holds objects
    elif all(isinstance(value, str) for _, value in pairs):
        kind = METADATA
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            yield key, "field" if key == METADATA else kind
        seen.add(key)


def _judge_repeated(repeated: list[tuple[str, str]], header: Header) -> None:
    """Readers take either of two entries of one name, so that is refused; they all pass over metadata."""
    tensors = [key for key, kind in repeated if kind == "tensor"]
    fields = [key for key, kind in repeated if kind == "field"]
    if tensors:
        name = legible(tensors[0])
        raise _Malformed(
            f"names {listed(tensors)} twice in its header", name, "named twice", "duplicate-tensor"
        )
    if fields:
        key = legible(fields[0])
        raise _Malformed(f"has {key} twice in one object of its header", key, "named twice")
    if repeated:
        keys = listed([key for key, _ in repeated])
        header.add("odd-header", f"has {keys} twice in its {METADATA}", key=METADATA)


def _entries(top: Mapping[str, Any], header: Header) -> dict[str, Entry]:
    """Every tensor of the header. Raises _Malformed."""
    entries: dict[str, Entry] = {}
    unknown: dict[str, str] = {}
    extra: list[str] = []
    for name, value in top.items():
        if name == METADATA:
            _check_metadata(value, header)
            continue
        try:
            dtype, shape, (begin, end) = value["dtype"], value["shape"], value["data_offsets"]
            if type(shape) is not list or len(shape) > MAX_RANK:
                raise TypeError
            count = 1
            for size in shape:
                if type(size) is not int or not 0 <= size < TOO_MANY:
                    raise TypeError
                count *= size
            if type(begin) is not int or type(end) is not int or not 0 <= begin <= end < TOO_MANY:
                raise TypeError
            bits = BITS.get(dtype)
            if len(value) != 3 or bits is None:
                if type(dtype) is not str:
                    raise TypeError
                extra.extend([name] * (len(value) != 3))
        except (TypeError, KeyError, ValueError):
            raise _describe(name, value) from None
        if bits is None:
            unknown.setdefault(dtype, name)
        elif count * bits != (end - begin) * 8:
            raise _size_differs(name, dtype, shape, count * bits, end - begin)
        entries[name] = (dtype, tuple(shape), begin, end)
    _note_oddities(header, entries, unknown, extra)
    return entries


def _describe(name: str, value: Any) -> _Malformed:
    """Which part of a tensor's entry is not as the format wants it."""
    who = legible(name)
    if not isinstance(value, dict):
        return _Malformed(f"describes {who} with {kind_of(value)}, not with an object", name)
    for key in ("dtype", "shape", "data_offsets"):
        if key not in value:
            return _Malformed(f"gives no {key} for {who}", name)
    dtype, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    if not isinstance(dtype, str):
        return _Malformed(f"gives {kind_of(dtype)} as dtype of {who}", name)
    if not isinstance(shape, list) or any(type(size) is not int or size < 0 for size in shape):
        return _Malformed(
            f"gives {who} a shape that is not a list of whole numbers from 0", name, _short(shape)
        )
    if len(shape) > MAX_RANK or any(size >= TOO_MANY for size in shape):
        return _Malformed(f"gives {who} a shape that no memory holds", name, _short(shape))
    return _Malformed(
        f"gives {who} data_offsets that are not [begin, end] with 0 ≤ begin ≤ end", name, _short(offsets)
    )


def _short(value: Any) -> str:
    text = (
        repr(value)
        if not isinstance(value, list)
        else f"[{', '.join(repr(item)[:20] for item in value[:6])}]"
    )
    return legible(text)


def _size_differs(name: str, dtype: str, shape: list[int], bits: int, given: int) -> _Malformed:
    what = f"{dtype} {shape}"
    if bits // 8 >= TOO_MANY:
        return _Malformed(f"gives {legible(name)} a shape that no memory holds", name, what)
    if bits % 8:
        return _Malformed(f"gives {legible(name)} {bits:,} bits, which do not fill whole bytes", name, what)
    return _Malformed(
        f"gives {legible(name)} {given:,} bytes, but {what} takes {bits // 8:,}",
        name,
        f"{what}, {given:,} bytes",
    )


def _check_metadata(value: Any, header: Header) -> None:
    if value is None:
        header.add("odd-header", f"has {METADATA}: null", key=METADATA, text="null")
    elif not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise _Malformed(f"has a {METADATA} that is not an object of texts", METADATA)


def _note_oddities(
    header: Header, entries: Mapping[str, Entry], unknown: Mapping[str, str], extra: list[str]
) -> None:
    if unknown:
        name = next(iter(unknown.values()))
        dtypes = listed(list(unknown))
        message = f"holds {legible(name)} in {dtypes}, a dtype that is not known here"
        header.add(
            "unknown-dtype", message, help="sizes in it are not checked", key=legible(name), text=dtypes
        )
    if extra:
        header.add("odd-header", f"has unknown fields in the entry of {listed(extra)}", key=extra[0])
    if "" in entries:
        header.add("odd-header", "holds a tensor without a name", key='""')
    if not entries:
        header.add("odd-header", "holds no tensors", key="header")


def _check_layout(header: Header, size: int) -> None:
    """Every byte after the header is of exactly one tensor. Raises _Malformed; a short file is only noted."""
    at, before = 0, ""
    for begin, end, name in sorted((entry[2], entry[3], name) for name, entry in header.entries.items()):
        if begin != at:
            what = "leaves a hole" if begin > at else "overlaps"
            place = f"between {legible(before)} and {legible(name)}" if before else f"before {legible(name)}"
            raise _Malformed(
                f"{what} {place}: byte {at:,} was due, {begin:,} is given",
                name,
                f"data_offsets [{begin}, {end}]",
            )
        at, before = end, name
    due = header.start + at
    if size < due:
        header.add(
            "truncated",
            f"has {size:,} bytes, but its header describes {due:,}",
            help="download the file again",
            key=f"byte {size:,}",
            text=f"end of the file, {due - size:,} bytes early",
        )
    elif size > due:
        raise _Malformed(
            f"has {size - due:,} bytes after its last tensor, from byte {due:,} on", f"byte {due:,}"
        )
