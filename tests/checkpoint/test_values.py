"""What ``--weights`` makes of values: every number format, every position, files that end or change."""

from __future__ import annotations

import math
import os
import random
import struct
from collections.abc import Callable, Sequence
from math import prod
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eaglecfg.checkpoint import zero_runs
from eaglecfg.checkpoint.column_blocks import Blocks
from eaglecfg.checkpoint.facts import CheckpointFacts
from eaglecfg.checkpoint.floats import FORMS, Judge
from eaglecfg.checkpoint.load import read_checkpoint
from eaglecfg.checkpoint.sketch import size_of, write_checkpoint
from eaglecfg.checkpoint.values import PIECE, DraftValues, TensorValues, read_values
from eaglecfg.checkpoint.zero_runs import BLOCK, MOST_RUNS

CONFIG = {"architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 1}
NAN = {
    "F64": ["000000000000f87f", "010000000000f07f", "010000000000f0ff", "ffffffffffffff7f"],
    "F32": ["0000c07f", "0100807f", "010080ff", "ffffffff"],
    "BF16": ["c07f", "817f", "81ff", "ffff"],
    "F16": ["007e", "017c", "01fc", "ffff"],
    "F8_E5M2": ["7d", "7e", "7f", "fd", "fe", "ff"],
    "F8_E4M3": ["7f", "ff"],
    "F8_E4M3FNUZ": ["80"],
    "F8_E5M2FNUZ": ["80"],
    "F8_E8M0": ["ff"],
}
INFINITE = {
    "F64": ["000000000000f07f", "000000000000f0ff"],
    "F32": ["0000807f", "000080ff"],
    "BF16": ["807f", "80ff"],
    "F16": ["007c", "00fc"],
    "F8_E5M2": ["7c", "fc"],
}
LARGEST = {
    "F64": ["ffffffffffffef7f", "ffffffffffffefff", "000000000000e07f"],
    "F32": ["ffff7f7f", "ffff7fff", "00007f7f"],
    "BF16": ["7f7f", "7fff", "007f", "00ff"],
    "F16": ["ff7b", "fffb", "007b"],
    "F8_E5M2": ["7b", "fb"],
    "F8_E4M3": ["7e", "fe", "7c"],
    "F8_E4M3FNUZ": ["7f", "ff"],
    "F8_E5M2FNUZ": ["7f", "ff"],
    "F8_E8M0": ["fe", "00", "7f"],
}
SMALLEST = {
    "F64": ["0100000000000000", "0100000000000080"],
    "F32": ["01000000", "01000080"],
    "BF16": ["0100", "0180"],
    "F16": ["0100", "0180"],
    "F8_E5M2": ["01", "81"],
    "F8_E4M3": ["01", "81"],
    "F8_E4M3FNUZ": ["01", "81"],
    "F8_E5M2FNUZ": ["01", "81"],
}
NEGATIVE_ZERO = {"F64": "0000000000000080", "F32": "00000080", "BF16": "0080", "F16": "0080"} | {
    "F8_E5M2": "80",
    "F8_E4M3": "80",
}


def cases(table: dict[str, list[str]]) -> list[tuple[str, bytes]]:
    return [(dtype, bytes.fromhex(each)) for dtype, values in table.items() for each in values]


def noise(dtype: str, count: int) -> bytes:
    """Finite values that are not zero, one high byte for all."""
    width = FORMS[dtype].width
    data = bytearray(random.Random(count).randbytes(count * width).replace(b"\0", b"\1"))
    data[width - 1 :: width] = b"\x3b" * count
    return bytes(data)


def write(
    folder: Path, dtype: str, shape: Sequence[int], data: bytes, name: str = "fc.weight"
) -> CheckpointFacts:
    write_checkpoint(folder / "draft", CONFIG, {"first": ("U8", [3]), name: (dtype, shape)}, {name: data})
    return read_checkpoint(folder, "draft", role="draft")


def values_of(facts: CheckpointFacts, name: str = "fc.weight", block: int = 0) -> TensorValues:
    return read_values(facts, {name}, blocks={name: block} if block else {}).tensors[name]


@pytest.mark.parametrize("dtype", FORMS)
def test_ordinary_values_are_not_blamed(dtype: str, tmp_path: Path) -> None:
    found = values_of(write(tmp_path, dtype, [37, 41], noise(dtype, 37 * 41)))
    assert (found.count, found.nan, found.infinite, found.zero) == (37 * 41, 0, 0, False)
    assert (found.zero_runs, found.blocks) == ((), Blocks())


@pytest.mark.parametrize(("dtype", "value"), cases(NAN))
def test_every_nan_is_counted(dtype: str, value: bytes, tmp_path: Path) -> None:
    data = noise(dtype, 50) + 3 * value + noise(dtype, 7)
    found = values_of(write(tmp_path, dtype, [60], data))
    assert (found.nan, found.infinite, found.constant) == (3, 0, None)


@pytest.mark.parametrize(("dtype", "value"), cases(INFINITE))
def test_infinities_are_told_from_nan(dtype: str, value: bytes, tmp_path: Path) -> None:
    data = noise(dtype, 50) + 2 * value + bytes.fromhex(NAN[dtype][0]) + noise(dtype, 7)
    found = values_of(write(tmp_path, dtype, [60], data))
    assert (found.nan, found.infinite) == (1, 2)


@pytest.mark.parametrize(("dtype", "value"), [*cases(LARGEST), *cases(SMALLEST)])
def test_huge_and_tiny_values_are_numbers(dtype: str, value: bytes, tmp_path: Path) -> None:
    found = values_of(write(tmp_path, dtype, [20, 3], noise(dtype, 30) + 30 * value))
    assert (found.nan, found.infinite, found.zero, found.constant) == (0, 0, False, None)


@pytest.mark.parametrize(
    ("dtype", "bits", "unpack"), [("BF16", 16, "f"), ("F16", 16, "e"), ("F8_E5M2", 8, "e")]
)
def test_each_bit_pattern_is_what_struct_says(dtype: str, bits: int, unpack: str) -> None:
    judge, width = Judge(FORMS[dtype]), bits // 8
    pad = struct.calcsize(unpack) - width
    for pattern in range(1 << bits):
        value = pattern.to_bytes(width, "little")
        number = struct.unpack(f"<{unpack}", bytes(pad) + value)[0]
        assert judge.odd(value) == (math.isnan(number), math.isinf(number)), hex(pattern)
        assert judge.all_zero(value) == (number == 0), hex(pattern)


@pytest.mark.parametrize(("dtype", "code"), [("F32", "f"), ("F64", "d")])
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_wide_patterns_are_what_struct_says(dtype: str, code: str, data: st.DataObject) -> None:
    width = FORMS[dtype].width
    numbers = data.draw(st.lists(st.floats(width=8 * width), min_size=1, max_size=40))
    raw = struct.pack(f"<{len(numbers)}{code}", *numbers)
    assert Judge(FORMS[dtype]).odd(raw) == (sum(map(math.isnan, numbers)), sum(map(math.isinf, numbers)))
    assert Judge(FORMS[dtype]).all_zero(raw) == (not any(numbers))


@pytest.mark.parametrize("dtype", NEGATIVE_ZERO)
def test_minus_zero_is_zero(dtype: str, tmp_path: Path) -> None:
    minus = bytes.fromhex(NEGATIVE_ZERO[dtype])
    for data in (60 * minus, 30 * (minus + bytes(len(minus))), bytes(59 * len(minus)) + minus):
        found = values_of(write(tmp_path, dtype, [20, 3], data))
        assert found.zero, data
        assert found.constant is not None
        assert float(found.constant) == 0


@pytest.mark.parametrize("dtype", [dtype for dtype in FORMS if dtype != "F8_E8M0"])
def test_holes_of_the_file_are_zeros(dtype: str, tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "draft", CONFIG, {"fc.weight": (dtype, [640, 480])})
    found = values_of(read_checkpoint(tmp_path, "draft", role="draft"))
    assert (found.zero, found.constant, found.zero_runs) == (True, "0", ())


def test_a_scale_of_powers_of_two_has_no_zero(tmp_path: Path) -> None:
    found = values_of(write(tmp_path, "F8_E8M0", [20, 3], bytes(60)))
    assert not found.zero


@pytest.mark.parametrize(
    ("dtype", "value", "shown"),
    [("BF16", "803f", "1"), ("F32", "0000003f", "0.5"), ("F16", "00c0", "-2"), ("F8_E4M3", "38", "0x38")],
)
def test_one_value_throughout_is_told(dtype: str, value: str, shown: str, tmp_path: Path) -> None:
    width = FORMS[dtype].width
    count = 2 * PIECE // width + 5
    found = values_of(write(tmp_path, dtype, [count, 1], count * bytes.fromhex(value)))
    assert (found.constant, found.zero, found.nan) == (shown, False, 0)


def test_a_tensor_of_nothing_but_nan_is_counted_across_pieces(tmp_path: Path) -> None:
    count = PIECE + 11
    found = values_of(write(tmp_path, "BF16", [count], count * b"\xc0\x7f"))
    assert (found.nan, found.infinite, found.count) == (count, 0, count)


BORDERS = [0, 1, PIECE // 2 - 1, PIECE // 2, PIECE // 2 + 1, PIECE - 1, PIECE, PIECE + 4]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> CheckpointFacts:
    """A BF16 tensor of two pieces and a bit, in a file whose data begin anywhere."""
    count = PIECE + 5
    return write(tmp_path_factory.mktemp("large"), "BF16", [count], noise("BF16", count))


def spoiled(facts: CheckpointFacts, at: int, value: bytes) -> TensorValues:
    """Its values with one of them replaced; the file is as before afterwards."""
    count = facts.tensors["fc.weight"].shape[0]
    with (Path(facts.folder) / "model.safetensors").open("r+b") as stream:
        place = stream.seek(0, os.SEEK_END) - 2 * (count - at)
        stream.seek(place)
        before = stream.read(2)
        stream.seek(place)
        stream.write(value)
        stream.flush()
        try:
            return values_of(facts)
        finally:
            stream.seek(place)
            stream.write(before)


@pytest.mark.parametrize("at", BORDERS)
def test_one_value_at_the_border_of_a_piece_is_found(at: int, large: CheckpointFacts) -> None:
    assert spoiled(large, at, b"\xc0\x7f").nan == 1
    assert spoiled(large, at, b"\x80\xff").infinite == 1
    assert values_of(large).nan == 0


@given(at=st.integers(0, PIECE + 4), value=st.sampled_from([b"\xc0\x7f", b"\x80\x7f", b"\x81\xff"]))
@settings(max_examples=60, deadline=None)
def test_one_value_anywhere_is_found(large: CheckpointFacts, at: int, value: bytes) -> None:
    found = spoiled(large, at, value)
    assert found.nan + found.infinite == 1


@given(
    dtype=st.sampled_from(sorted(FORMS)),
    count=st.integers(1, 300),
    data=st.data(),
)
@settings(max_examples=100, deadline=None)
def test_counts_agree_with_one_value_at_a_time(dtype: str, count: int, data: st.DataObject) -> None:
    width, judge = FORMS[dtype].width, Judge(FORMS[dtype])
    raw = data.draw(st.binary(min_size=count * width, max_size=count * width))
    each = [judge.odd(raw[at : at + width]) for at in range(0, len(raw), width)]
    assert judge.odd(raw) == (sum(one[0] for one in each), sum(one[1] for one in each))
    zeros = [judge.all_zero(raw[at : at + width]) for at in range(0, len(raw), width)]
    assert judge.all_zero(raw) == all(zeros)
    assert judge.zeros_first(raw) == next((at for at, zero in enumerate(zeros) if not zero), count)
    assert judge.zeros_last(raw) == next((at for at, zero in enumerate(zeros[::-1]) if not zero), count)


@pytest.mark.parametrize("dtype", ["F32", "BF16", "F8_E4M3"])
@pytest.mark.parametrize(
    ("dead", "width"), [((0,), 512), ((1,), 512), ((2,), 512), ((0, 2), 512), ((1,), 700), ((0, 1), 3)]
)
def test_dead_columns_are_found_block_by_block(
    dtype: str, dead: tuple[int, ...], width: int, tmp_path: Path
) -> None:
    rows = 900
    row = bytearray(noise(dtype, 3 * width))
    size = FORMS[dtype].width
    for block in dead:
        row[block * width * size : (block + 1) * width * size] = bytes(width * size)
    facts = write(tmp_path, dtype, [rows, 3 * width], bytes(row) * rows)
    found = values_of(facts, block=width).blocks
    zero = tuple(columns for columns, value in found.dead if value == "0")
    assert zero == tuple((block * width, (block + 1) * width - 1) for block in dead)
    assert found.same == ()


@pytest.mark.parametrize("row", [0, 1, 450, 899])
def test_one_value_in_a_block_keeps_it_alive(row: int, tmp_path: Path) -> None:
    rows, width = 900, 512
    data = bytearray((noise("BF16", width) + bytes(2 * width)) * rows)
    data[(row * 2 + 2) * width * 2 - 1] = 0x3C
    facts = write(tmp_path, "BF16", [rows, 2 * width], bytes(data))
    assert values_of(facts, block=width).blocks == Blocks()


def holed(folder: Path, shape: tuple[int, int], *holes: tuple[int, int]) -> TensorValues:
    data = bytearray(noise("BF16", prod(shape)))
    for begin, end in holes:
        data[2 * begin : 2 * end] = bytes(2 * (end - begin))
    return values_of(write(folder, "BF16", shape, bytes(data)))


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        (300, 300 + BLOCK),
        (1000 * 700 + 400, 1000 * 900),  # begins within a row, ends with one
        (1000 * 700 + 400, 1000 * 1200),  # up to the end: the rest of the file is lost
        (1000 * 200, 1000 * 260 + 500),
        (0, 1000 * 60 + 500),
        (PIECE // 2 - 70_000, PIECE // 2 + 70_000),
    ],
)
def test_a_hole_is_told_to_the_value(begin: int, end: int, tmp_path: Path) -> None:
    (run,) = holed(tmp_path, (1200, 1000), (begin, end)).zero_runs
    assert (run.begin, run.end, run.ragged) == (begin, end, True)


@pytest.mark.parametrize(
    "holes",
    [
        [(1000 * 500, 1000 * 700)],  # rows that were pruned
        [(1000 * 900, 1000 * 1200)],  # rows of padding
        [(1000 * 900 - 7, 1000 * 1200)],  # and a few values that are zero by chance
        [(row * 1000 + 700, row * 1000 + 1000) for row in range(1200)],  # columns of padding
        [
            (1000 * 900 + 0, 1000 * 1200),
            *((row * 1000 + 700, row * 1000 + 1000) for row in range(900)),
        ],  # both
        [(400, 900)],  # shorter than a row
    ],
)
def test_padding_and_pruning_are_no_holes(holes: list[tuple[int, int]], tmp_path: Path) -> None:
    assert not any(run.ragged for run in holed(tmp_path, (1200, 1000), *holes).zero_runs)


def test_every_hole_is_judged_and_padding_hides_none(tmp_path: Path) -> None:
    holes = [(100_300, 150_700), (300_000, 360_000), (500_400, 540_100), (800_000, 1_200_000)]
    runs = holed(tmp_path, (1200, 1000), *holes).zero_runs
    assert [(run.begin, run.end) for run in runs] == holes
    assert [run.ragged for run in runs] == [True, False, True, False]
    assert [run.rows for run in runs] == [(101, 150), (300, 360), (501, 540), (800, 1200)]


def test_of_a_pattern_of_very_many_runs_the_longest_are_judged() -> None:
    longer = (9 * BLOCK, 13 * BLOCK)
    runs = [longer, *((at * BLOCK, (at + 2) * BLOCK) for at in range(16, 16 + 4 * MOST_RUNS, 4))]
    shape, judge = (4 * MOST_RUNS + 20, BLOCK // 2), Judge(FORMS["BF16"])
    found = zero_runs.judged(runs[::-1], shape, judge, lambda begin, end: noise("BF16", (end - begin) // 2))
    assert len(found) == MOST_RUNS
    assert (found[0].begin, found[0].rows) == (longer[0] // 2, (9, 13))
    assert not any(run.ragged for run in found)


@pytest.mark.parametrize("dtype", ["F32", "BF16"])
@pytest.mark.parametrize("rows", [4, 900])
def test_equal_and_constant_blocks_are_found(dtype: str, rows: int, tmp_path: Path) -> None:
    width, size = 300, FORMS[dtype].width
    cells = [noise(dtype, width + row)[: width * size] for row in range(rows)]
    one = bytes.fromhex("0000003f" if size == 4 else "003f")
    data = b"".join(cell + one * width + cell + cell[::-1] for cell in cells)
    found = values_of(write(tmp_path, dtype, [rows, 4 * width], data), block=width).blocks
    assert found.dead == (((300, 599), "0.5"),)
    assert found.same == (((0, 299), (600, 899)),)


def test_blocks_that_are_alike_but_in_the_last_row_differ(tmp_path: Path) -> None:
    rows, width = 2000, 300
    data = bytearray(noise("BF16", width) * 2 * rows)
    data[-2] ^= 1
    assert values_of(write(tmp_path, "BF16", [rows, 2 * width], bytes(data)), block=width).blocks == Blocks()


@pytest.mark.parametrize(("columns", "block"), [(3_000, 1), (10, 11), ((8 << 20) // 2 + 2, 2 << 20)])
def test_blocks_that_no_draft_has_are_not_looked_at(columns: int, block: int, tmp_path: Path) -> None:
    row = bytes(2 * (columns - 1)) + b"\x80\x3f"
    assert values_of(write(tmp_path, "BF16", [2, columns], 2 * row), block=block).blocks == Blocks()


def test_blocks_of_identities_are_not_told_to_be_the_same(tmp_path: Path) -> None:
    width = 64
    rows = [bytearray(2 * width) for _ in range(width)]
    for at, row in enumerate(rows):
        row[2 * at : 2 * at + 2] = b"\x80\x3f"
    data = b"".join(bytes(row) * 3 for row in rows)
    assert values_of(write(tmp_path, "BF16", [width, 3 * width], data), block=width).blocks == Blocks()


def test_the_same_bytes_are_the_same(tmp_path: Path) -> None:
    shape, size = [700, 1000], 1_400_000
    first, second = noise("BF16", 700_000), bytearray(noise("BF16", 700_000))
    second[-1] ^= 1
    tensors = dict.fromkeys("abc", ("BF16", shape)) | {"d": ("F16", shape), "e": ("BF16", [1000, 700])}
    assert len(second) == size
    data = {"a": first, "b": first, "c": bytes(second), "d": first, "e": first}
    write_checkpoint(tmp_path / "draft", CONFIG, tensors, data, shards=2)
    facts = read_checkpoint(tmp_path, "draft", role="draft")
    pairs = [("a", other) for other in "bcdex"]
    assert read_values(facts, "abcde", twins=pairs).same == (("a", "b"),)


@pytest.mark.parametrize("size", [8, 1_000, 300_000, 1_700_000])
def test_what_is_not_there_is_not_the_same(size: int, tmp_path: Path) -> None:
    """The file ends before the second of two tensors, within it, or before both."""
    tensors = dict.fromkeys("ab", ("BF16", [700, 700]))
    write_checkpoint(tmp_path / "draft", CONFIG, tensors, dict.fromkeys("ab", noise("BF16", 490_000)))
    facts = read_checkpoint(tmp_path, "draft", role="draft")
    path = tmp_path / "draft/model.safetensors"
    assert read_values(facts, "ab", twins=[("a", "b")]).same == (("a", "b"),)
    os.truncate(path, path.stat().st_size - 1_960_000 + size)
    assert read_values(facts, "ab", twins=[("a", "b")]).same == ()


@pytest.mark.parametrize("dtype", ["I8", "U8", "I32", "I64", "BOOL", "F4", "C64"])
def test_other_formats_are_not_judged(dtype: str, tmp_path: Path) -> None:
    facts = write(tmp_path, dtype, [64, 64], bytes(size_of(dtype, [64, 64])))
    found = read_values(facts, {"fc.weight"})
    assert not found.tensors
    assert [tensor.dtype for tensor in found.not_judged] == [dtype]


def test_empty_tensors_and_scalars_are_read(tmp_path: Path) -> None:
    write_checkpoint(
        tmp_path / "draft",
        CONFIG,
        {"empty": ("BF16", [0, 64]), "one": ("F32", []), "nan": ("F32", [1])},
        {"one": struct.pack("<f", 2.0), "nan": struct.pack("<f", math.nan)},
    )
    found = read_values(
        read_checkpoint(tmp_path, "draft", role="draft"), {"empty", "one", "nan", "absent"}
    ).tensors
    assert found.keys() == {"one", "nan"}
    assert (found["one"].count, found["one"].nan, found["nan"].nan) == (1, 0, 1)


def changed(tmp_path: Path, change: Callable[[Path], object]) -> DraftValues:
    """What is read of a draft whose file changes after its header was read."""
    facts = write(tmp_path, "BF16", [100, 100], noise("BF16", 10_000))
    change(Path(facts.folder) / "model.safetensors")
    return read_values(facts, {"fc.weight"})


def test_a_file_that_goes_away_is_unread(tmp_path: Path) -> None:
    found = changed(tmp_path, Path.unlink)
    assert found.unread == ("draft/model.safetensors is not there",)


def test_a_file_that_becomes_another_is_unread(tmp_path: Path) -> None:
    def other(path: Path) -> None:
        write_checkpoint(path.parent, CONFIG, {"fc.weight": ("BF16", [50, 50])})

    assert changed(tmp_path, other).unread == ("draft/model.safetensors was written to while it was read",)


def test_a_file_that_becomes_shorter_is_cut(tmp_path: Path) -> None:
    found = changed(tmp_path, lambda path: os.truncate(path, path.stat().st_size - 1))
    assert (found.cut, found.unread, dict(found.tensors)) == (("fc.weight",), (), {})


def test_a_fifo_in_place_of_the_file_does_not_hold_us_up(tmp_path: Path) -> None:
    def pipe(path: Path) -> None:
        path.unlink()
        os.mkfifo(path)

    assert "not a regular file" in changed(tmp_path, pipe).unread[0]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_is_unread(tmp_path: Path) -> None:
    assert "permission denied" in changed(tmp_path, lambda path: path.chmod(0)).unread[0]


def test_progress_is_told_up_to_the_end(tmp_path: Path) -> None:
    facts = write(tmp_path, "BF16", [PIECE + 3], noise("BF16", PIECE + 3))
    seen: list[tuple[int, int]] = []
    read_values(facts, {"fc.weight"}, told=lambda done, total: seen.append((done, total)))
    size = 2 * (PIECE + 3)
    assert seen == [(PIECE, size), (2 * PIECE, size), (size, size)]
