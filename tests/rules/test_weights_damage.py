"""Holes that padding or the rows hide, inputs that are ignored, scales of zero; and healthy drafts alike."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.rules.examples import materialize
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Report
from tests.rules.test_weights import FILE, check, message, said, unread, weighed

KIB = 1 << 10
GATE, UP = "midlayer.mlp.gate_proj.weight", "midlayer.mlp.up_proj.weight"
Q, K, V = (f"midlayer.self_attn.{name}_proj.weight" for name in "qkv")
HEAD = "lm_head.weight"


def severities(report: Report) -> list[Severity]:
    return [found.severity for found in report.findings if found.rule.id in said(report)]


class Weights:
    """The file of the draft of a small pair, changed byte by byte."""

    def __init__(self, folder: Path, **example: Any) -> None:
        self.config = materialize({"weights": {}, **example}, folder)
        self.path = folder / FILE
        self._load()

    def _load(self) -> None:
        self.data = bytearray(self.path.read_bytes())
        self.start = 8 + int.from_bytes(self.data[:8], "little")
        self.header = json.loads(self.data[8 : self.start])

    def offset(self, name: str) -> int:
        """First byte of a tensor in the file."""
        return int(self.start + self.header[name]["data_offsets"][0])

    def shift(self, name: str, beyond: int) -> None:
        """Lengthen the header until the tensor begins ``beyond`` bytes after a multiple of 64 KiB."""
        more = (beyond - self.offset(name)) % (64 * KIB)
        text = bytes(self.data[8 : self.start]) + b" " * more
        whole = len(text).to_bytes(8, "little") + text + self.data[self.start :]
        self.path.write_bytes(whole)
        self._load()

    def zero_rows(self, name: str, first: int, last: int) -> None:
        row = 2 * self.header[name]["shape"][1]
        self.zero(self.offset(name) + first * row, (last - first + 1) * row)

    def zero(self, at: int, length: int) -> None:
        self.data[at : at + length] = bytes(length)

    def report(self) -> Report:
        self.path.write_bytes(self.data)
        return weighed(self.config)


@pytest.mark.parametrize("padding", [(300, 511), (260, 511), (0, 200), (245, 460)])
def test_rows_of_zeros_hide_no_hole(padding: tuple[int, int], tmp_path: Path) -> None:
    weights = Weights(tmp_path)
    weights.zero_rows(GATE, *padding)
    where = 20_100 if padding[0] else 53_860
    weights.zero(weights.offset(GATE) + 2 * where, 80 * KIB)
    report = weights.report()
    assert (said(report), severities(report)) == (["EC820"], [Severity.ERROR])
    assert f"values {where:,} to {where + 40 * KIB - 1:,} of 131,072 of the draft's {GATE}" in message(report)


def test_several_holes_of_one_tensor_are_told_in_one_finding(tmp_path: Path) -> None:
    weights = Weights(tmp_path)
    for where in (3_001, 60_007):
        weights.zero(weights.offset(GATE) + 2 * where, 70 * KIB)
    report = weights.report()
    assert said(report) == ["EC820"]
    assert f"2 stretches of the draft's {GATE} are zero" in message(report)


@pytest.mark.parametrize(("size", "blocks"), [(64, "1 block of 64 KiB"), (128, "2 blocks of 64 KiB")])
@pytest.mark.parametrize("name", [GATE, UP, Q, "fc.weight", HEAD])
def test_whole_rows_that_are_blocks_of_the_file_are_missing(
    name: str, size: int, blocks: str, tmp_path: Path
) -> None:
    weights = Weights(tmp_path, draft={"config": {"head_dim": 64}})
    columns = weights.header[name]["shape"][1]
    weights.shift(name, 5 * 2 * columns)
    begin = -(-weights.offset(name) // (64 * KIB)) * 64 * KIB
    if weights.header[name]["shape"][0] * 2 * columns <= (begin - weights.offset(name)) + size * KIB:
        return  # it would reach the last row, as padding does
    weights.zero(begin, size * KIB)
    report = weights.report()
    if columns == 768:
        # No block of such a size is whole rows of 1,536 bytes.
        assert (said(report), severities(report)) == (["EC820"], [Severity.ERROR])
        return
    assert (said(report), severities(report)) == (["EC820"], [Severity.WARNING])
    assert f"of the draft's {name} are zero, and those before and after are not: exactly {blocks}" in message(
        report
    )


Change = Callable[[Weights], None]


def rows(name: str, *pairs: tuple[int, int]) -> Change:
    def change(weights: Weights) -> None:
        for first, last in pairs:
            weights.zero_rows(name, first, last)

    return change


def both(*changes: Change) -> Change:
    def change(weights: Weights) -> None:
        for each in changes:
            each(weights)

    return change


def shifted(name: str, beyond: int) -> Change:
    return lambda weights: weights.shift(name, beyond)


@pytest.mark.parametrize(
    "change",
    [
        rows(GATE, (128, 319)),  # rows anywhere
        both(shifted(GATE, 0), rows(GATE, (384, 511))),  # up to the last row: padding
        both(shifted(GATE, 0), rows(GATE, (0, 127))),  # from the first
        both(shifted(GATE, 0), rows(GATE, (128, 255)), rows(UP, (128, 255))),  # the same neurons
        both(shifted(Q, 0), rows(Q, (64, 127))),  # a head
        both(shifted(Q, 0), rows(Q, (64, 191))),  # two
        both(shifted(GATE, 64), rows(GATE, (128, 255))),  # rows that begin anywhere in the file
        both(shifted(GATE, 0), rows(GATE, (128, 191))),  # few
        both(shifted(GATE, 512), rows(GATE, (3, 130), (140, 270), (280, 410))),  # chance among others
        rows(HEAD, (120, 255)),  # padding of a vocabulary
        rows(HEAD, (0, 130)),
    ],
)
def test_padding_and_pruning_are_not_blamed(change: Change, tmp_path: Path) -> None:
    weights = Weights(tmp_path)
    change(weights)
    assert said(weights.report()) == []


def test_a_head_that_is_not_a_head_is_missing(tmp_path: Path) -> None:
    weights = Weights(tmp_path)
    weights.shift(Q, 0)
    weights.zero_rows(Q, 72, 143)
    assert said(weights.report()) == ["EC820"]


def test_a_part_of_the_vocabulary_is_missing_wherever_it_is_in_the_file(tmp_path: Path) -> None:
    weights = Weights(tmp_path)
    weights.shift(HEAD, 24)
    weights.zero_rows(HEAD, 60, 200)
    report = weights.report()
    assert (said(report), severities(report)) == (["EC820"], [Severity.WARNING])
    assert "rows 60 to 200 of 256 of the draft's lm_head.weight are zero" in message(report)
    assert "block" not in message(report)


HALVES = [([0, 255], "the embedding of the token"), ([256, 511], "the state that comes in beside it")]


@pytest.mark.parametrize("fill", [0, -0.0, 0.5])
@pytest.mark.parametrize(("columns", "name"), HALVES)
def test_attention_that_is_blind_to_one_input(
    columns: list[int], name: str, fill: float, tmp_path: Path
) -> None:
    report = check(tmp_path, {each: {"fill": fill, "columns": columns} for each in (Q, K, V)})
    assert (said(report), severities(report)) == (["EC819"], [Severity.ERROR])
    assert message(report).endswith(f": the draft's attention ignores {name}")
    assert f"columns {columns[0]} to {columns[1]} of the draft's {Q}, {K}, {V} are" in message(report)


@pytest.mark.parametrize("lost", [[Q], [K], [V], [Q, K], [K, V]])
@pytest.mark.parametrize(("columns", "name"), HALVES)
def test_a_part_of_attention_that_is(columns: list[int], name: str, lost: list[str], tmp_path: Path) -> None:
    report = check(tmp_path, {each: {"fill": 0, "columns": columns} for each in lost})
    assert (said(report), severities(report)) == (["EC819"], [Severity.WARNING])
    assert message(report).endswith(f"a part of the draft's attention ignores {name}")


def test_one_weight_that_is_dead_and_two_that_are_blind_are_all(tmp_path: Path) -> None:
    weights = {Q: {"fill": 0}} | {each: {"fill": 0, "columns": [0, 255]} for each in (K, V)}
    report = check(tmp_path, weights)
    assert said(report) == ["EC818", "EC819"]
    assert set(severities(report)) == {Severity.ERROR}


def test_a_fused_weight_is_blind_as_well(tmp_path: Path) -> None:
    fused = "midlayer.self_attn.qkv_proj.weight"
    tensors = {fused: ["BF16", [512, 512]], Q: None, K: None, V: None}
    report = check(tmp_path, {fused: {"fill": 0, "columns": [256, 511]}}, draft={"tensors": tensors})
    assert (said(report), severities(report)) == (["EC819"], [Severity.ERROR])


@pytest.mark.parametrize("columns", [[0, 200], [100, 300], [255, 511], [257, 511]])
def test_columns_that_are_no_input_are_not_judged(columns: list[int], tmp_path: Path) -> None:
    expected = [] if columns != [255, 511] else ["EC819"]
    assert said(check(tmp_path, {Q: {"fill": 0, "columns": columns}})) == expected


@pytest.mark.parametrize("pair", [(0, 1), (1, 2), (0, 2)])
def test_states_that_fc_cannot_tell_apart(pair: tuple[int, int], tmp_path: Path) -> None:
    weights = Weights(tmp_path)
    start, state = weights.offset("fc.weight"), 512
    for row in range(start, start + 256 * 3 * state, 3 * state):
        one, other = (row + number * state for number in pair)
        weights.data[other : other + state] = weights.data[one : one + state]
    report = weights.report()
    assert (said(report), severities(report)) == (["EC819"], [Severity.WARNING])
    numbers = " and ".join(str(number + 1) for number in pair)
    assert f"are the same: the draft cannot tell apart states {numbers} of 3, boundaries" in message(report)


def test_a_state_of_nothing_but_nan_is_the_business_of_another_rule(tmp_path: Path) -> None:
    assert said(check(tmp_path, {"fc.weight": {"fill": "nan", "columns": [0, 255]}})) == ["EC818"]


@pytest.mark.parametrize("scale", ["weight_scale", "weight_scale_inv", "input_scale", "weight_scale_2"])
@pytest.mark.parametrize("shape", [[1], [512, 1], [4, 2]])
def test_a_scale_of_zero_makes_a_weight_zero(scale: str, shape: list[int], tmp_path: Path) -> None:
    name = GATE.replace("weight", scale)
    draft = {"tensors": {name: ["BF16", shape]}}
    assert said(check(tmp_path / "good", draft=draft)) == []
    assert said(check(tmp_path / "one", {name: {"fill": 1}}, draft=draft)) == []
    report = check(tmp_path / "zero", {name: {"fill": 0}}, draft=draft)
    assert said(report) == ["EC818"]
    assert f"the draft's {name} is zero" in message(report)


def test_a_scale_that_is_zero_for_some_rows_is_that_of_padding(tmp_path: Path) -> None:
    name = GATE.replace("weight", "weight_scale")
    draft = {"tensors": {name: ["BF16", [512, 1]]}}
    assert said(check(tmp_path, {name: {"fill": 0, "values": [300, 511]}}, draft=draft)) == []


def test_packed_weights_are_said_to_be_unchecked_and_their_scales_are_judged(tmp_path: Path) -> None:
    packed, scales = (GATE.replace("weight", name) for name in ("qweight", "scales"))
    draft = {
        "tensors": {GATE: None, packed: ["I32", [32, 512]], scales: ["BF16", [2, 512]]},
    }
    report = check(tmp_path / "good", draft=draft)
    assert said(report) == []
    assert unread(report) == {f"{packed} is I32; values of whole-number and packed formats are not judged"}
    assert not any(skip.incomplete for skip in report.not_checked if skip.rule.id.startswith("EC8"))
    assert said(check(tmp_path / "zero", {scales: {"fill": 0}}, draft=draft)) == ["EC818"]


@pytest.mark.parametrize("kept", [0.2, 0.5, 0.8])
def test_what_a_file_lost_is_not_said_to_be_the_same(kept: float, tmp_path: Path) -> None:
    path = materialize({"weights": {}}, tmp_path)
    size = int((tmp_path / FILE).stat().st_size * kept)
    with (tmp_path / FILE).open("r+b") as stream:
        stream.truncate(size)
    report = weighed(path)
    assert said(report) == []
    assert_incomplete(report, ["EC818", "EC820"])


def assert_incomplete(report: Report, ids: Sequence[str]) -> None:
    assert {skip.rule.id for skip in report.not_checked if skip.incomplete} >= set(ids)


def test_a_shard_that_is_not_there_leaves_values_unread(tmp_path: Path) -> None:
    path = materialize({"draft": {"shards": 2}}, tmp_path)
    (lost, *_) = sorted((tmp_path / "draft").glob("*.safetensors"))
    lost.unlink()
    report = weighed(path)
    assert any(
        "could not be read: no file that could be opened holds them" in each for each in unread(report)
    )
    assert_incomplete(report, ["EC818", "EC820"])
