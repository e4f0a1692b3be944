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
