"""Configs that no trainer writes must not stop a rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eaglecfg.rules.examples import materialize
from eaglecfg.rules.runner import validate
from eaglecfg.source.read import read_document

ODD: tuple[Any, ...] = ("<null>", "many", -1, 0, 10**12, 1.5, [], {}, True)
KEYS = (
    "hidden_size",
    "head_dim",
    "num_attention_heads",
    "num_key_value_heads",
    "intermediate_size",
    "num_hidden_layers",
    "vocab_size",
    "draft_vocab_size",
    "target_hidden_size",
    "max_position_embeddings",
    "rope_theta",
    "rope_scaling",
    "rope_parameters",
    "dtype",
    "eagle_config",
    "norm_before_fc",
    "fc_norm",
    "quantization_config",
    "tie_word_embeddings",
    "bos_token_id",
    "hidden_act",
    "model_type",
    "bias",
    "attention_bias",
)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("role", ["target", "draft"])
def test_an_odd_value_crashes_no_rule(role: str, key: str, tmp_path: Path) -> None:
    for number, value in enumerate(ODD):
        path = materialize({role: {"config": {key: value}}}, tmp_path / str(number))
        report = validate([read_document(path)])
        assert not report.crashes, (value, report.crashes[0].trace)


@pytest.mark.parametrize("shape", [[], [256], [1, 1, 1], [0, 0]])
@pytest.mark.parametrize(
    "name", ["fc.weight", "lm_head.weight", "norm.weight", "midlayer.self_attn.q_proj.weight"]
)
def test_a_tensor_of_odd_shape_crashes_no_rule(name: str, shape: list[int], tmp_path: Path) -> None:
    path = materialize({"draft": {"tensors": {name: ["BF16", shape]}}}, tmp_path)
    report = validate([read_document(path)])
    assert not report.crashes, report.crashes[0].trace


SIZES = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")


@pytest.mark.parametrize("key", SIZES)
def test_a_size_that_the_draft_does_not_give_is_said_to_be_unchecked(key: str, tmp_path: Path) -> None:
    report = validate([read_document(materialize({"draft": {"config": {key: None}}}, tmp_path))])
    assert any(f"does not give {key}" in unchecked.reason for unchecked in report.not_checked)


def test_an_extract_of_a_deep_target_is_not_taken_for_a_broken_one(tmp_path: Path) -> None:
    path = materialize({"target": {"config": {"num_hidden_layers": 61}}}, tmp_path)
    report = validate([read_document(path)], select=["EC816"])
    assert not report.findings
    assert ["12 of 61 layers" in unchecked.reason for unchecked in report.not_checked] == [True]
