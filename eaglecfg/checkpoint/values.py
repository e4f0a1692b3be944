"""``--weights``: what the values of a draft's tensors are like, read in pieces. Only done where asked for.

A piece is a MiB: with slices and tables it stays in the processor's cache, and several GB pass in a second.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field
from typing import NamedTuple

from eaglecfg.checkpoint import column_blocks, zero_runs
from eaglecfg.checkpoint.column_blocks import Blocks
from eaglecfg.checkpoint.facts import CheckpointFacts, TensorFact
from eaglecfg.checkpoint.fault import FileFault, legible
from eaglecfg.checkpoint.floats import FORMS, judge_of
from eaglecfg.checkpoint.header import finish_header, peek_header
from eaglecfg.checkpoint.regular import opened, read_range
from eaglecfg.checkpoint.safetensors import Header, parse_header
from eaglecfg.checkpoint.zero_runs import Run, add_blocks
from eaglecfg.record import record

PIECE = 1 << 20
"""Bytes read at a time; a multiple of every width."""

Told = Callable[[int, int], None]
"""Is told the bytes read so far and the bytes of all."""


@record
class TensorValues:
    """What the values of one tensor are like. ``count`` is their number.

    ``constant`` is the one value that all have, as a person reads it. ``zero``: all are 0 or -0.
    ``start`` is the byte of its file at which it begins, ``size`` its number of bytes. ``zero_runs`` are the
    runs of zeros that are longer than a row and cover a block, ``blocks`` what the blocks of columns asked
    about are like.
    """

    tensor: TensorFact
    count: int
    nan: int = 0
    infinite: int = 0
    constant: str | None = None
    zero: bool = False
    start: int = 0
    size: int = 0
    zero_runs: tuple[Run, ...] = ()
    blocks: Blocks = Blocks()


@record
class DraftValues:
    """Values of the tensors that were asked about, by name.

    ``reason`` says why none were read, ``help`` what to do about it. ``not_judged`` are tensors whose dtype
    is a whole number or packed; ``cut`` those that end after their file; ``unread`` says what could not be
    read, ``same`` are pairs of names with the same bytes, of those asked about.
    """

    tensors: Mapping[str, TensorValues] = field(default_factory=dict)
    reason: str = ""
    help: str = ""
    not_judged: tuple[TensorFact, ...] = ()
    cut: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    same: tuple[tuple[str, str], ...] = ()
    bytes_read: int = 0


class Place(NamedTuple):
    """Where a tensor lies: file as opened and as shown, first byte and number of bytes."""

    path: str
    shown: str
    start: int
    length: int


def read_values(
    facts: CheckpointFacts,
    wanted: Collection[str],
    *,
    blocks: Mapping[str, int] = {},
    twins: Collection[tuple[str, str]] = (),
    told: Told | None = None,
) -> DraftValues:
    """Read the ``wanted`` tensors of safetensors files that lie here. Nothing that files hold makes it raise.

    ``blocks``: tensor to the number of columns of a block, for tensors whose blocks are looked at one by one.
    ``twins``: pairs of tensors that are compared byte by byte.
    """
    places, unread = _places(facts)
    judged = [facts.tensors[name] for name in facts.tensors if name in wanted and name in places]
    todo = [tensor for tensor in judged if tensor.dtype in FORMS and places[tensor.name].length]
    total, done = sum(places[tensor.name].length for tensor in todo), 0
    found: dict[str, TensorValues] = {}
    cut: list[str] = []
    for tensor in todo:
        place = places[tensor.name]

        def piece_read(length: int, before: int = done) -> None:
            if told is not None:
                told(before + length, total)

        try:
            values = _values(tensor, place, blocks.get(tensor.name), piece_read)
        except FileFault as fault:
            unread.setdefault(place.shown, fault.problem.message)
            continue
        done += place.length
        if values is None:
            cut.append(tensor.name)
        else:
            found[tensor.name] = values
    same = [pair for pair in twins if _same(pair, facts.tensors, places, unread)]
    return DraftValues(
        found,
        not_judged=tuple(tensor for tensor in judged if tensor.dtype not in FORMS),
        cut=tuple(cut),
        unread=tuple(unread.values()),
        same=tuple(same),
        bytes_read=done,
    )


def _places(facts: CheckpointFacts) -> tuple[dict[str, Place], dict[str, str]]:
    """Where the tensors of ``facts`` lie, and why not, by file. Headers are read again: few need offsets."""
    places: dict[str, Place] = {}
    unread: dict[str, str] = {}
    held: dict[str, list[str]] = {}
    for name, tensor in facts.tensors.items():
        held.setdefault(tensor.file, []).append(name)
    for file in facts.files:
        if not file.endswith(".safetensors"):
            continue
        path, shown = f"{facts.folder}/{file}", f"{facts.shown}/{legible(file)}"
        mine = held.get(shown)
        if mine is None:
            continue
        try:
            header = parse_header(finish_header(path, shown, peek_header(path, shown)), shown)
        except FileFault as fault:
            unread[shown] = fault.problem.message
            continue
        if any(not _unchanged(header, facts.tensors[name]) for name in mine):
            unread[shown] = f"{shown} was written to while it was read"
            continue
        for name in mine:
            _, _, begin, end = header.entries[name]
            places[name] = Place(path, shown, header.start + begin, end - begin)
    return places, unread


def _unchanged(header: Header, tensor: TensorFact) -> bool:
    entry = header.entries.get(tensor.name)
    return entry is not None and entry[:2] == (tensor.dtype, tensor.shape)


def _values(
    tensor: TensorFact, place: Place, block: int | None, read: Callable[[int], None]
) -> TensorValues | None:
    """What the values of ``tensor`` are like, None where its file ends first. Raises FileFault."""
    judge = judge_of(tensor.dtype)
    nan = infinite = at = 0
    zero = constant = True
    first, filled = b"", b""  # the first value, and a piece of nothing else
    runs: list[tuple[int, int]] = []
    blocks = Blocks()
    with opened(place.path, place.shown) as (descriptor, _):
        while at < place.length:
            length = min(PIECE, place.length - at)
            data = read_range(descriptor, place.start + at, length, place.shown)
            if len(data) < length:
                return None
            if not at:
                first = data[: judge.width]
                filled = first * (length // judge.width)
            constant = constant and filled.startswith(data)
            more = judge.odd(first if constant else data)
            times = length // judge.width if constant else 1
            nan, infinite = nan + times * more[0], infinite + times * more[1]
            zero = zero and judge.all_zero(first if constant else data)
            if judge.form.zero:
                add_blocks(runs, data, at)
            at += length
            read(at)

        def part(begin: int, end: int) -> bytes:
            begin, end = max(begin, 0), min(end, place.length)  # may leave nothing, of which nothing is read
            return read_range(descriptor, place.start + begin, end - begin, place.shown)

        odd = zero or constant
        found = () if odd else zero_runs.judged(runs, tensor.shape, judge, part)
        if block and len(tensor.shape) == 2 and judge.form.zero and not odd:
            blocks = column_blocks.judged(tensor.shape, block, judge, part)
    return TensorValues(
        tensor,
        place.length // judge.width,
        nan,
        infinite,
        judge.number(first) if constant else "0" if zero else None,
        zero,
        place.start,
        place.length,
        found,
        blocks,
    )


def _same(
    pair: tuple[str, str],
    tensors: Mapping[str, TensorFact],
    places: Mapping[str, Place],
    unread: Mapping[str, str],
) -> bool:
    """Whether two tensors have one dtype, one shape and the same bytes. Others mostly differ at once.

    A file that ends within one of them makes them differ.
    """
    first, second = pair
    if first not in places or second not in places:
        return False
    one, other = tensors[first], tensors[second]
    if (one.dtype, one.shape) != (other.dtype, other.shape) or not places[first].length:
        return False
    if {places[first].shown, places[second].shown} & unread.keys():
        return False
    try:
        return all(
            mine == its for mine, its in zip(_pieces(places[first]), _pieces(places[second]), strict=True)
        )
    except (FileFault, ValueError):
        return False  # what is not there is equal to nothing


def _pieces(place: Place) -> Iterator[bytes]:
    with opened(place.path, place.shown) as (descriptor, _):
        for at in range(0, place.length, PIECE):
            length = min(PIECE, place.length - at)
            data = read_range(descriptor, place.start + at, length, place.shown)
            if len(data) < length:
                raise ValueError(f"{place.shown} ends first")
            yield data
