"""Which spellings of a tensor's name the draft classes load, as their load_weights did when it was run.

The verdicts come from load_weights of the wheels, cut out and fed one name after the other: every release
from 0.5.4.post1 to 0.5.23 for the Llama class, from 0.5.12 for the MLA class. They differ by the first layer
only.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eaglecfg.engines.naming import place_of, reaching
from eaglecfg.engines.table import known_versions
from eaglecfg.rules.model import Today
from tests.engines.build import facts
from tests.rules.pairs import LLAMA_SHAPES, MLA_TENSORS, check, mla, serious

LLAMA, MLA = "LlamaForCausalLMEagle3", "Eagle3DeepseekV2ForCausalLM"


@pytest.mark.parametrize("version", known_versions("sglang"))
def test_the_head_has_one_name_and_a_map_many(version: str) -> None:
    for architecture, fact in facts(version).drafts.items():
        assert place_of(fact, "lm_head.weight") == "lm_head.weight"
        for other in ("model.lm_head.weight", "model.model.lm_head.weight"):
            assert place_of(fact, other) != "lm_head.weight"
        assert {place_of(fact, name) for name in ("d2t", "model.d2t", "draft.model.d2t")} == {"d2t"}
        anywhere = architecture == LLAMA
        assert (place_of(fact, "my_d2t.weight") == "d2t") == anywhere
        assert place_of(fact, "model.norm.weight") == ("norm.weight" if anywhere else "model.norm.weight")
        assert place_of(fact, "model.model.norm.weight") != "norm.weight"


@pytest.mark.parametrize(("version", "both"), [("0.5.4.post1", False), ("0.5.11", False), ("0.5.12", True)])
def test_the_first_layer_of_a_llama_draft_is_numbered_from_one_version_on(version: str, both: bool) -> None:
    fact = facts(version).drafts[LLAMA]
    place = "layers.0.mlp.down_proj.weight"
    assert place_of(fact, "model.midlayer.mlp.down_proj.weight") == place
    assert (reaching(fact, place, [place]) == place) == both
    assert reaching(fact, place, ["layers.1.mlp.down_proj.weight"]) is None


@pytest.mark.parametrize("name", sorted(LLAMA_SHAPES))
@pytest.mark.parametrize("version", ["0.5.11", "0.5.14", "0.5.23"])
def test_a_llama_draft_takes_every_tensor_but_the_head_inside_the_model(
    name: str, version: str, tmp_path: Path
) -> None:
    moved = {name: None, f"model.{name}": ["BF16", LLAMA_SHAPES[name]]}
    found = serious(check(tmp_path, engine=version, draft={"tensors": moved}))
    assert set(found) == ({"EC246"} if name == "lm_head.weight" else set())


@pytest.mark.parametrize("prefix", ["", "model."])
def test_maps_are_found_with_any_prefix(prefix: str, tmp_path: Path) -> None:
    tensors = {"d2t": None, "t2d": None, f"{prefix}d2t": ["I64", [256]], f"{prefix}t2d": ["BOOL", [1024]]}
    values = {f"{prefix}d2t": {"form": "offset"}, f"{prefix}t2d": {"marks": [4 * i for i in range(256)]}}
    assert not serious(check(tmp_path, draft={"tensors": tensors, "values": values}))


@pytest.mark.parametrize(
    "name",
    sorted(
        {*LLAMA_SHAPES, *(n for n, t in MLA_TENSORS.items() if t)}
        - {n for n, t in MLA_TENSORS.items() if not t}
    ),
)
def test_an_mla_draft_takes_nothing_inside_the_model(name: str, tmp_path: Path) -> None:
    shape = LLAMA_SHAPES.get(name) or MLA_TENSORS[name][1]
    moved: dict[str, Any] = {name: None, f"model.{name}": ["BF16", shape]}
    found = serious(check(tmp_path, engine="0.5.23", draft=mla(tensors=moved)))
    assert set(found) == {"EC246" if name == "lm_head.weight" else "EC223"}
    assert name in next(iter(found.values())).message


def test_a_wrapper_around_the_whole_draft_costs_the_head_alone(tmp_path: Path) -> None:
    moved: dict[str, Any] = dict.fromkeys(LLAMA_SHAPES)
    moved |= {f"model.{name}": ["BF16", shape] for name, shape in LLAMA_SHAPES.items()}
    found = serious(check(tmp_path, draft={"tensors": moved}))
    assert set(found) == {"EC246"}
    assert "model.lm_head.weight" in found["EC246"].message


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("prefix", ["drafter.", "model.model."])
def test_a_prefix_before_every_tensor_is_one_finding(prefix: str, narrow: bool, tmp_path: Path) -> None:
    shapes = {**LLAMA_SHAPES, **({"embed_tokens.weight": [1024, 256]} if narrow else {})}
    moved: dict[str, Any] = dict.fromkeys(shapes)
    moved |= {f"{prefix}{name}": ["BF16", shape] for name, shape in shapes.items()}
    target: dict[str, Any] = {}
    config: dict[str, Any] = {}
    if narrow:
        target, config = {"config": {"hidden_size": 512}}, {"target_hidden_size": 512}
        moved[f"{prefix}fc.weight"] = ["BF16", [256, 1536]]
    found = serious(check(tmp_path, target=target, draft={"config": config, "tensors": moved}))
    assert set(found) == {"EC223"}


def test_a_bias_of_fc_under_a_name_that_is_not_loaded_is_missed(tmp_path: Path) -> None:
    tensors = {"model.fc.bias": ["BF16", [256]]}
    llama = serious(check(tmp_path / "a", draft={"config": {"bias": True}, "tensors": tensors}))
    assert not llama
    found = serious(check(tmp_path / "b", draft=mla({"bias": True}, tensors)))
    assert "EC234" in found


@pytest.mark.parametrize("version", ["0.5.12", "0.5.14", "0.5.15", "0.5.23"])
def test_an_mla_draft_joins_its_first_projection_itself(version: str, tmp_path: Path) -> None:
    joined = {
        "midlayer.self_attn.q_a_proj.weight": None,
        "midlayer.self_attn.kv_a_proj_with_mqa.weight": None,
        "midlayer.self_attn.fused_qkv_a_proj_with_mqa.weight": ["BF16", [192, 512]],
    }
    found = serious(check(tmp_path, engine=version, draft=mla(tensors=joined)))
    assert set(found) == {"EC223"}
    assert "fused_qkv_a_proj_with_mqa" in found["EC223"].message
    assert "split" in found["EC223"].help


@pytest.mark.parametrize("left_out", ["norm.weight", "midlayer.self_attn.o_proj.weight"])
def test_what_else_is_missing_is_told_with_the_joined_projection(left_out: str, tmp_path: Path) -> None:
    joined = {
        "midlayer.self_attn.q_a_proj.weight": None,
        "midlayer.self_attn.kv_a_proj_with_mqa.weight": None,
        "midlayer.self_attn.fused_qkv_a_proj_with_mqa.weight": ["BF16", [192, 512]],
        left_out: None,
    }
    assert left_out in serious(check(tmp_path, draft=mla(tensors=joined)))["EC223"].message


@pytest.mark.parametrize("version", ["0.5.11", "0.5.14", "0.5.23"])
@pytest.mark.parametrize("prefix", ["midlayer.", "model.midlayer."])
def test_a_llama_draft_takes_joined_projections(prefix: str, version: str, tmp_path: Path) -> None:
    parts = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "mlp.gate_proj", "mlp.up_proj")
    tensors: dict[str, Any] = {f"midlayer.{part}.weight": None for part in parts}
    tensors[f"{prefix}self_attn.qkv_proj.weight"] = ["BF16", [512, 512]]
    tensors[f"{prefix}mlp.gate_up_proj.weight"] = ["BF16", [1024, 256]]
    assert not serious(check(tmp_path, engine=version, draft={"tensors": tensors}))


def test_an_mla_draft_takes_a_joined_mlp(tmp_path: Path) -> None:
    tensors: dict[str, Any] = {"midlayer.mlp.gate_proj.weight": None, "midlayer.mlp.up_proj.weight": None}
    tensors["midlayer.mlp.gate_up_proj.weight"] = ["BF16", [1024, 256]]
    assert not serious(check(tmp_path, draft=mla(tensors=tensors)))


@pytest.mark.parametrize(
    ("shape", "today"),
    [
        ([512, 512], None),
        ([640, 512], Today.SILENT),
        ([384, 512], Today.CRASH_AT_START),
        ([512, 256], Today.CRASH_AT_START),
        ([640, 256], Today.CRASH_AT_START),
        ([512], Today.CRASH_AT_START),
    ],
)
def test_a_joined_projection_has_the_rows_of_its_parts(
    shape: list[int], today: Today | None, tmp_path: Path
) -> None:
    tensors: dict[str, Any] = {f"midlayer.self_attn.{part}_proj.weight": None for part in "qkv"}
    tensors["midlayer.self_attn.qkv_proj.weight"] = ["BF16", shape]
    found = serious(check(tmp_path, draft={"tensors": tensors}))
    assert set(found) == (set() if today is None else {"EC225"})
    if today is not None:
        assert found["EC225"].today is today
