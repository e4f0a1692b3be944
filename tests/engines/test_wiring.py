from __future__ import annotations

from typing import Any

import pytest

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.engines.wiring import Wiring, unwired_reason, wiring_of
from tests.engines.build import draft, facts, resolved, target

IDS = "eagle_aux_hidden_state_layer_ids"
MLA = {
    "architectures": ["Eagle3DeepseekV2ForCausalLM"],
    "hidden_size": 7168,
    "num_attention_heads": 64,
    "num_hidden_layers": 1,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "intermediate_size": 18432,
    "vocab_size": 163840,
    "eagle_config": {IDS: [2, 30, 58]},
}


def wired(version: str = "0.5.23", of: ModelConfig | None = None, **keys: Any) -> Wiring:
    found = wiring_of(facts(version), of or target(), draft(**keys))
    assert found is not None
    return found


def mla(version: str = "0.5.23", **keys: Any) -> Wiring:
    found = wiring_of(facts(version), None, ModelConfig("draft/config.json", {**MLA, **keys}))
    assert found is not None
    return found


def shapes(wiring: Wiring) -> dict[str, tuple[int | None, ...]]:
    return {tensor.names[0]: tensor.shape for tensor in wiring.tensors if tensor.required}


def test_the_llama_draft_is_fed_three_states_and_twice_the_width() -> None:
    assert shapes(wired()) == {
        "midlayer.input_layernorm.weight": (512,),
        "midlayer.hidden_norm.weight": (512,),
        "midlayer.post_attention_layernorm.weight": (512,),
        "midlayer.self_attn.q_proj.weight": (512, 1024),
        "midlayer.self_attn.k_proj.weight": (256, 1024),
        "midlayer.self_attn.v_proj.weight": (256, 1024),
        "midlayer.self_attn.o_proj.weight": (512, 512),
        "midlayer.mlp.gate_proj.weight": (1024, 512),
        "midlayer.mlp.up_proj.weight": (1024, 512),
        "midlayer.mlp.down_proj.weight": (512, 1024),
        "fc.weight": (512, 1536),
        "norm.weight": (512,),
        "lm_head.weight": (1024, 512),
        "d2t": (1024,),
    }


@pytest.mark.parametrize(
    ("version", "keys", "states", "where"),
    [
        ("0.5.11", {"num_aux_hidden_states": 4}, 3, "default"),
        ("0.5.12", {"num_aux_hidden_states": 4}, 4, "num_aux_hidden_states"),
        ("0.5.12", {"eagle_config": {IDS: [1, 2, 3, 4]}}, 4, f"eagle_config.{IDS}"),
        (
            "0.5.12",
            {"num_aux_hidden_states": 2, "eagle_config": {IDS: [1, 2, 3, 4]}},
            2,
            "num_aux_hidden_states",
        ),
        ("0.5.12", {"eagle_config": {IDS: []}}, 3, "default"),
        ("0.5.12", {IDS: [1, 2, 3, 4]}, 3, "default"),
        ("0.5.23", {}, 3, "default"),
    ],
)
def test_the_llama_draft_counts_states_by_version(
    version: str, keys: dict[str, Any], states: int, where: str
) -> None:
    found = wired(version, **keys)
    assert (found.states, found.states_from) == (states, where)
    assert found.fc_shape == (512, states * 512)


def test_the_mla_draft_counts_ids_at_the_top_level_too() -> None:
    keys: dict[str, Any] = {"eagle_config": None, "num_aux_hidden_states": 5, IDS: [1, 2, 3, 4]}
    found = mla(**keys)
    assert (found.states, found.states_from) == (4, IDS)


def test_a_target_width_of_its_own_makes_fc_wider_and_keeps_the_embedding() -> None:
    found = wired(target_hidden_size=2048)
    assert found.fc_shape == (512, 6144)
    assert found.embedding == "own"
    assert shapes(found)["embed_tokens.weight"] == (4096, 512)
    assert wired(target_hidden_size=512).embedding == "target"


def test_norms_before_fc_are_honoured_from_their_version_on() -> None:
    early, late = wired("0.5.16", norm_before_fc=True), wired("0.5.17", norm_before_fc=True)
    assert not early.input_norm
    assert early.expected("input_norm.weight") is None
    assert shapes(late)["input_norm.weight"] == (1536,)
    assert wired("0.5.17", eagle_config={"norm_before_fc": False}, norm_before_fc=True).input_norm is False
    found = wired("0.5.12", use_aux_norm=True)
    assert found.expected("aux_norm_mid.weight") is found.expected("fc_norm.1.weight")
    assert not wired("0.5.11", fc_norm=True).fc_norm


def test_layer_names_are_accepted_by_version() -> None:
    assert wired("0.5.11").expected("layers.0.self_attn.q_proj.weight") is None
    assert wired("0.5.12").expected("model.layers.0.self_attn.q_proj.weight") is not None
    assert wired("0.5.12").expected("midlayer.self_attn.q_proj.bias") is None
    assert mla().expected("model.layers.0.self_attn.q_a_proj.weight") is None


def test_more_layers_are_built_from_0_5_12_on_and_fed_once_the_width() -> None:
    found = wired(num_hidden_layers=2)
    assert shapes(found)["layers.1.self_attn.q_proj.weight"] == (512, 512)
    assert "layers.1.input_layernorm.weight" not in shapes(found)
    assert [problem.key for problem in wired("0.5.11", num_hidden_layers=2).problems] == ["num_hidden_layers"]
    assert found.problems == ()


def test_lengths_that_differ_are_cut_padded_or_refused() -> None:
    kinds = {
        tensor.names[0].split(".")[-2]: (tensor.strictness, tensor.axis) for tensor in wired().tensors[:12]
    }
    assert kinds["q_proj"] == ("truncates", 0)
    assert kinds["gate_proj"] == ("pads", 0)
    assert kinds["o_proj"] == kinds["down_proj"] == ("pads", 1)
    assert kinds["fc"] == kinds["norm"] == ("exact", 0)


@pytest.mark.parametrize(
    ("keys", "head", "maps"),
    [
        ({}, "own", True),
        ({"draft_vocab_size": 4096}, "own", False),
        ({"draft_vocab_size": None}, "target", False),
        ({"draft_vocab_size": "absent"}, "own", False),
        ({"tie_word_embeddings": True}, "tied", True),
        ({"model_type": "gemma3_text"}, "tied", True),
        ({"model_type": "gemma3_text", "tie_word_embeddings": False}, "own", True),
    ],
)
def test_the_head_is_own_shared_or_tied(keys: dict[str, Any], head: str, maps: bool) -> None:
    found = wired(**keys)
    assert (found.head, found.needs_map) == (head, maps)
    lm_head = found.expected("lm_head.weight")
    assert lm_head is not None
    assert lm_head.required is (head == "own")


@pytest.mark.parametrize(
    ("version", "keys", "key"),
    [
        ("0.5.23", {"draft_vocab_size": "absent"}, "draft_vocab_size"),
        ("0.5.23", {"target_hidden_size": None}, "target_hidden_size"),
        ("0.5.12", {"eagle_config": [1, 2, 3]}, "eagle_config"),
        ("0.5.23", {"hidden_act": "gelu"}, "hidden_act"),
    ],
)
def test_configs_that_the_class_cannot_be_built_from(version: str, keys: dict[str, Any], key: str) -> None:
    assert [problem.key for problem in wired(version, **keys).problems] == [key]


def test_an_eagle_config_that_is_no_object_is_harmless_up_to_0_5_11() -> None:
    assert wired("0.5.11", eagle_config=[1, 2, 3]).problems == ()


def test_a_head_width_that_only_the_config_class_knows_is_not_guessed() -> None:
    assert wired().head_dim == 32
    assert wired(model_type="of_its_own").head_dim is None
    assert wired(model_type="qwen3").head_dim == 128
    assert wired(model_type="of_its_own", head_dim=128).head_dim == 128


def test_the_mla_draft_has_low_rank_projections() -> None:
    found = shapes(mla())
    assert found["fc.weight"] == (7168, 21504)
    assert found["midlayer.self_attn.q_a_proj.weight"] == (1536, 14336)
    assert found["midlayer.self_attn.kv_a_proj_with_mqa.weight"] == (576, 14336)
    assert found["midlayer.self_attn.q_b_proj.weight"] == (12288, 1536)
    assert found["midlayer.self_attn.kv_b_proj.weight"] == (16384, 512)
    assert found["midlayer.self_attn.o_proj.weight"] == (7168, 8192)
    assert mla().head == "target"


def test_the_mla_draft_needs_q_lora_rank_and_a_single_layer() -> None:
    assert [problem.key for problem in mla(q_lora_rank=None).problems] == ["q_lora_rank"]
    assert [problem.key for problem in mla(num_hidden_layers=2).problems] == ["num_hidden_layers"]


def test_the_mla_draft_splits_fc_from_0_5_15_on() -> None:
    assert not mla("0.5.14").fact.fc_split
    assert mla("0.5.15").fact.fc_split
    assert mla("0.5.12", fc_norm=True).fc_norm is False
    assert mla("0.5.13", fc_norm=True).fc_norm is True


@pytest.mark.parametrize(
    ("version", "architecture", "word"),
    [
        ("0.5.23", "Eagle3Speculator", "eagle_config"),
        ("0.5.23", "LlamaForCausalLM", "LlamaForCausalLMEagle3"),
        ("0.5.23", "Qwen3ForCausalLM", "model class"),
        ("0.5.23", "NoSuchEagle3", "registers no class"),
        ("0.5.11", "Eagle3DeepseekV2ForCausalLM", "registers no class"),
    ],
)
def test_other_classes_are_no_eagle3_drafts(version: str, architecture: str, word: str) -> None:
    other = draft(architecture)
    assert wiring_of(facts(version), target(), other) is None
    assert word in unwired_reason(facts(version), other)


def test_a_draft_of_this_version_needs_no_reason() -> None:
    assert unwired_reason(facts(), draft()) == ""
    assert "names no architecture" in unwired_reason(facts(), ModelConfig("draft/config.json", {}))


def test_overrides_change_the_draft_too() -> None:
    of, by = target(), draft()
    found = wiring_of(facts(), of, by, resolved(of=of, by=by, json_model_override_args={"hidden_size": 256}))
    assert found is not None
    assert found.fc_shape == (256, 768)


@pytest.mark.parametrize("version", ["0.5.9", "0.5.14", "0.5.23"])
@pytest.mark.parametrize(("rows", "tied"), [(None, False), (None, True), (1024, False), (1024, True)])
def test_a_narrow_draft_keeps_its_table_unless_it_borrows_the_head(
    rows: int | None, tied: bool, version: str
) -> None:
    keys = {"target_hidden_size": 1024, "draft_vocab_size": rows, "tie_word_embeddings": tied}
    built = wired(version, **keys)
    assert built.head == ("tied" if tied else "target" if rows is None else "own")
    assert built.embedding == ("target" if built.head == "target" else "own")


def test_a_wide_draft_never_keeps_its_table() -> None:
    assert {wired(draft_vocab_size=rows).embedding for rows in (None, 1024)} == {"target"}
    assert mla(draft_vocab_size=None, target_hidden_size=4096).embedding == "target"
    assert mla(draft_vocab_size=1000, target_hidden_size=4096).embedding == "own"
