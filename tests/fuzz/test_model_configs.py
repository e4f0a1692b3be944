"""Whatever config.json and the files beside it hold, the check ends in a report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eaglecfg.rules.examples import BASE_DRAFT, BASE_TARGET, materialize
from tests.fuzz.odd import DELETED, changed, check, said, several, values

BASES = {"target": BASE_TARGET, "draft": BASE_DRAFT}
MORE = [
    "rope_scaling",
    "rope_parameters",
    "quantization_config",
    "text_config",
    "thinker_config",
    "torch_dtype",
    "target_hidden_size",
    "num_aux_hidden_states",
    "norm_before_fc",
    "norm_before_residual",
    "fc_norm",
    "use_aux_norm",
    "norm_output",
    "bias",
    "auto_map",
    "max_sequence_length",
    "model_max_length",
    "sliding_window",
    "layer_types",
    "q_lora_rank",
    "kv_lora_rank",
    "pad_token_id",
]
INNER = ("eagle_aux_hidden_state_layer_ids", "use_aux_hidden_state", "norm_before_fc")
paths = st.sampled_from(
    [(role, (key,)) for role, base in BASES.items() for key in (*base, *MORE)]
    + [("draft", ("eagle_config", key)) for key in INNER]
    + [("target", (outer, key)) for outer in ("text_config", "llm_config") for key in BASE_TARGET]
)


@several(60)
@given(at=paths, value=values | st.just(DELETED))
def test_any_value_of_any_key(at: tuple[str, tuple[str, ...]], value: Any, pair: Path) -> None:
    role, path = at
    file = pair / role / "config.json"
    before = file.read_text()
    try:
        file.write_text(json.dumps(changed(BASES[role], path, value)))
        check(pair)
    finally:
        file.write_text(before)


@several(30)
@given(
    architecture=st.sampled_from(["LlamaForCausalLMEagle3", "Eagle3DeepseekV2ForCausalLM"]),
    changes=st.dictionaries(st.sampled_from([*BASE_DRAFT, *MORE]), values, max_size=4),
)
def test_several_values_of_either_draft_class(architecture: str, changes: Any, pair: Path) -> None:
    file = pair / "draft" / "config.json"
    before = file.read_text()
    try:
        file.write_text(json.dumps({**BASE_DRAFT, **changes, "architectures": [architecture]}))
        check(pair)
    finally:
        file.write_text(before)


@several(30)
@given(
    role=st.sampled_from(["target", "draft"]),
    name=st.sampled_from(
        ["generation_config.json", "tokenizer_config.json", "hf_quant_config.json", "eaglecfg-training.json"]
    ),
    content=st.dictionaries(
        st.sampled_from(
            [
                "eos_token_id",
                "bos_token_id",
                "pad_token_id",
                "version",
                "boundaries",
                "quantization",
                "added_tokens_decoder",
            ]
        ),
        values,
        max_size=3,
    )
    | values,
)
def test_any_content_of_a_file_beside_it(role: str, name: str, content: Any, pair: Path) -> None:
    file = pair / role / name
    try:
        file.write_text(json.dumps(content))
        check(pair)
    finally:
        file.unlink()


SHAPES: list[list[int]] = [[], [0], [1], [256, 0], [3, 4, 5], [2, 3, 4, 5, 6], [1] * 64, [2**20, 2**10]]
TENSORS = [
    "fc.weight",
    "midlayer.self_attn.q_proj.weight",
    "lm_head.weight",
    "d2t",
    "t2d",
    "a b\u202e",
    "x" * 500,
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_any_shape_of_a_tensor(shape: list[int], tmp_path: Path) -> None:
    for index, name in enumerate([*TENSORS, "layers.99999999999999999999.mlp.up_proj.weight"]):
        for dtype in ("BF16", "I64"):
            folder = tmp_path / f"{index}{dtype}"
            tensors = {"tensors": {name: [dtype, shape]}, "values": {"d2t": None, "t2d": None}}
            materialize({"draft": tensors}, folder)
            check(folder)


LENGTHS = [
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "vocab_size",
    "intermediate_size",
    "max_position_embeddings",
]
Table = dict[tuple[str, ...], list[Any]]
WRONG: Table = {
    tuple(LENGTHS): ["256", 256.0, True, [], {}, 0, -1, 2**40, 10**40],
    ("tie_word_embeddings", "attention_bias"): ["false", [], 5],
    ("eos_token_id", "bos_token_id"): ["2", 2.0, {}, True],
    ("rope_scaling", "quantization_config", "dtype"): ["x", [1], 3],
    ("model_type",): [None, 3, []],
}
IDS = "eagle_aux_hidden_state_layer_ids"
ODD_IDS = [[2.0, 5.0, 8.0], ["2", "5", "8"], [True, 5, 8], "2,5,8", {"0": 2}, [None, 5, 8], [2, 5, 10**30]]
OWN: Table = {
    ("draft_vocab_size", "target_hidden_size", "num_aux_hidden_states"): ["3", 256.0, 0, -1, []],
    ("norm_before_residual", "fc_norm"): ["false", "no", [], {}, 5],
    ("hidden_act",): [3],
    ("architectures",): [[3]],
    ("eagle_config",): [[2], "x", 3, *({IDS: ids} for ids in ODD_IDS)],
}


@pytest.mark.parametrize("role", ["target", "draft"])
def test_a_value_of_the_wrong_kind_never_passes(role: str, pair: Path) -> None:
    file = pair / role / "config.json"
    before, base = file.read_text(), said(check(pair))
    silent = []
    try:
        table = {**WRONG, **(OWN if role == "draft" else {})}
        for key, value in ((key, value) for keys, odd in table.items() for key in keys for value in odd):
            file.write_text(json.dumps({**BASES[role], key: value}))
            if said(check(pair)) <= base:
                silent.append((key, value))
    finally:
        file.write_text(before)
    assert silent == []


@pytest.mark.parametrize("key", LENGTHS)
def test_a_length_that_is_none_is_one_finding(key: str, pair: Path) -> None:
    file = pair / "draft" / "config.json"
    before, base = file.read_text(), said(check(pair))
    try:
        for value in ("256", 0, -1, 256.0):
            file.write_text(json.dumps({**BASE_DRAFT, key: value}))
            assert [rule for rule, _ in said(check(pair)) - base] == ["EC814"]
    finally:
        file.write_text(before)
