"""``--weights``: what the values of a draft's tensors are like, read in pieces. Only done where asked for.

A piece is a MiB: with slices and tables it stays in the processor's cache, and several GB pass in a second.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field
from typing import NamedTuple

from eaglecfg.checkpoint.facts import CheckpointFacts, TensorFact
from eaglecfg.checkpoint.fault import FileFault, legible
from eaglecfg.checkpoint.floats import FORMS, Judge, judge_of
from eaglecfg.checkpoint.header import finish_header, peek_header
from eaglecfg.checkpoint.regular import opened, read_range
from eaglecfg.checkpoint.safetensors import Header, parse_header
from eaglecfg.record import record

PIECE = 1 << 20
"""Bytes read at a time; a multiple of every width."""

BLOCK = 1 << 15
"""Bytes of the blocks that are looked at for zeros: every run of zeros of twice the length covers one."""

MARGINS = 16, 128
"""Bounds of how far from the borders of a row a run has to begin or end, in values; an eighth of the row.
Some values are zero by chance, in narrow formats many."""

_ZEROS = bytes(PIECE)
_ZERO_BLOCK = bytes(BLOCK)

Told = Callable[[int, int], None]
"""Is told the bytes read so far and the bytes of all."""


@record
class Run:
    """Values ``begin`` to ``end`` (exclusive), counted row by row, are zero, with others around them.

    ``ragged``: it begins or ends within a row where the next row goes on otherwise, which no padding and no
    pruning of rows or columns does.
    """

    begin: int
    end: int
    ragged: bool


@record
class TensorValues:
    """What the values of one tensor are like. ``count`` is their number.

    ``constant`` is the one value that all have, as a person reads it. ``zero``: all are 0 or -0.
    ``zero_run`` is the longest run of zeros, of those that cover a block. ``dead_columns`` are the first and
    last column of the blocks asked about that hold zeros only.
    """

    tensor: TensorFact
    count: int
    nan: int = 0
    infinite: int = 0
    constant: str | None = None
    zero: bool = False
    zero_run: Run | None = None
    dead_columns: tuple[tuple[int, int], ...] = ()


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
    columns = _Columns(tensor.shape, judge, block)
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
                _add_runs(runs, data, at)
                columns.look(data, at)
            at += length
            read(at)
        run = None if zero or not runs else _longest(descriptor, tensor, place, judge, runs)
    return TensorValues(
        tensor,
        place.length // judge.width,
        nan,
        infinite,
        judge.number(first) if constant else "0" if zero else None,
        zero,
        run,
        columns.dead(),
    )


def _add_runs(runs: list[tuple[int, int]], data: bytes, at: int) -> None:
    """Add the blocks of ``data``, which begins at byte ``at`` of its tensor, that are zeros throughout."""
    for begin in range(0, len(data) - BLOCK + 1, BLOCK):
        if data.startswith(_ZERO_BLOCK, begin):
            if runs and runs[-1][1] == at + begin:
                runs[-1] = runs[-1][0], at + begin + BLOCK
            else:
                runs.append((at + begin, at + begin + BLOCK))


class _Columns:
    """Which blocks of columns of a matrix have been zeros so far. A block with one other value is let go."""

    def __init__(self, shape: tuple[int, ...], judge: Judge, block: int | None) -> None:
        self._judge = judge
        self._block = block or 0
        self._row = shape[1] * judge.width if block and len(shape) == 2 else 0
        self._zero = set(range(shape[1] // block)) if block and len(shape) == 2 else set()

    def look(self, data: bytes, at: int) -> None:
        """Look at ``data``, which begins at byte ``at`` of the matrix."""
        width = self._block * self._judge.width
        for block in sorted(self._zero):
            row = at // self._row
            while (begin := row * self._row + block * width) < at + len(data):
                first, last = max(begin - at, 0), begin + width - at
                row += 1
                if last > first and not (
                    data.startswith(_ZEROS[: min(last, len(data)) - first], first)
                    or self._judge.all_zero(data[first:last])
                ):
                    self._zero.discard(block)
                    break

    def dead(self) -> tuple[tuple[int, int], ...]:
        return tuple((block * self._block, (block + 1) * self._block - 1) for block in sorted(self._zero))


def _longest(
    descriptor: int, tensor: TensorFact, place: Place, judge: Judge, runs: list[tuple[int, int]]
) -> Run:
    """The longest of ``runs`` (in bytes), to the value."""
    begin, end = max(runs, key=lambda run: run[1] - run[0])

    def read(first: int, last: int) -> bytes:
        first, last = max(first, 0), min(last, place.length)  # may leave nothing, of which nothing is read
        return read_range(descriptor, place.start + first, last - first, place.shown)

    first = begin // judge.width - judge.zeros_last(read(begin - BLOCK, begin))
    last = end // judge.width + judge.zeros_first(read(end, end + BLOCK))
    row = tensor.shape[-1] if len(tensor.shape) > 1 else 0
    if not row or last - first <= row:
        return Run(first, last, ragged=False)
    before, after = (
        first % row,
        last % row,
    )  # columns of the first row ahead of the run, of the last row in it
    ragged = False
    margin = max(MARGINS[0], min(row // 8, MARGINS[1]))
    if margin <= before <= row - margin:
        # Where the row above has zeros in the same columns, the columns are padding.
        above = read((first - row) * judge.width, (first - before) * judge.width)
        ragged = first < row or not judge.all_zero(above)
    if margin <= after <= row - margin and not ragged:
        below = read((last - after + row) * judge.width, (last + row) * judge.width)
        ragged = not below or not judge.all_zero(below)
    return Run(first, last, ragged)


def _same(
    pair: tuple[str, str],
    tensors: Mapping[str, TensorFact],
    places: Mapping[str, Place],
    unread: Mapping[str, str],
) -> bool:
    """Whether two tensors have one dtype, one shape and the same bytes. Others mostly differ at once."""
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
        return False


def _pieces(place: Place) -> Iterator[bytes]:
    with opened(place.path, place.shown) as (descriptor, _):
        for at in range(0, place.length, PIECE):
            yield read_range(descriptor, place.start + at, min(PIECE, place.length - at), place.shown)
