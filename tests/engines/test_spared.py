"""Which layers a declaration leaves out, release by release."""

from __future__ import annotations

from typing import Any

import pytest

from eaglecfg.checkpoint.quantization import Declared
from eaglecfg.engines.spared import asked_as, left_out

QKV, GATE, DOWN, OUT = "model.qkv_proj", "model.gate_up_proj", "model.down_proj", "model.self_attn.o_proj"


def said(method: str, version: str, name: str, **block: Any) -> bool | None:
    return left_out("sglang", version, Declared(method, block, "config.json", "quantization_config"), name)


@pytest.mark.parametrize("version", ["0.5.4.post1", "0.5.9", "0.5.23"])
def test_the_draft_asks_for_most_layers_without_the_module_they_stand_in(version: str) -> None:
    def asked(part: str) -> str | None:
        return asked_as("sglang", version, "LlamaForCausalLMEagle3", part)

    assert [asked(f"self_attn.{one}_proj") for one in "qkvo"] == [QKV, QKV, QKV, OUT]
    assert [asked(f"mlp.{one}_proj") for one in ("gate", "up", "down")] == [GATE, GATE, DOWN]
    assert asked("fc") is None
    assert asked_as("sglang", version, "Eagle3DeepseekV2ForCausalLM", "self_attn.o_proj") is None


@pytest.mark.parametrize(
    ("entry", "name", "exact", "folded", "suffix"),
    [
        ("model.down_proj", DOWN, True, True, True),
        ("down_proj", DOWN, False, True, True),
        ("DOWN", DOWN, False, True, False),
        ("model", DOWN, False, True, False),
        ("mlp", DOWN, False, False, False),
        ("self_attn.o_proj", OUT, False, True, True),
        ("self_attn", OUT, False, True, False),
        ("re:.*self_attn.*", OUT, True, True, True),
        ("re:.*self_attn.*", QKV, False, False, False),
        ("re:qkv", QKV, False, False, False),
        ("re:model", QKV, True, True, True),
        ("q_proj", QKV, False, False, False),
    ],
)
def test_compressed_tensors(entry: str, name: str, exact: bool, folded: bool, suffix: bool) -> None:
    versions = {"0.5.4.post1": exact, "0.5.6.post2": exact, "0.5.7": folded, "0.5.16": folded}
    for version, out in {**versions, "0.5.17": suffix, "0.5.23": suffix}.items():
        assert said("compressed-tensors", version, name, ignore=["lm_head", entry]) is out, version


@pytest.mark.parametrize(
    ("entries", "name", "expected"),
    [
        # in the order 0.5.6, 0.5.8, 0.5.9, 0.5.10, 0.5.11, 0.5.23
        (["model.down_proj"], DOWN, (True, True, True, True, True, True)),
        (["down_proj"], DOWN, (False, True, True, True, True, True)),
        (["down"], DOWN, (False, True, True, True, False, False)),
        (["down_proj."], DOWN, (False, False, False, False, False, True)),
        (["model"], DOWN, (False, True, True, True, True, True)),
        (["mlp"], DOWN, (False, False, False, False, False, False)),
        (["midlayer.self_attn"], OUT, (False, False, False, False, False, False)),
        (["self_attn"], OUT, (False, True, True, True, True, True)),
        # v_proj, without what stands before it, is found in qkv_proj, and up_proj in gate_up_proj
        (["model.q_proj", "model.k_proj", "model.v_proj"], QKV, (False, True, False, True, True, True)),
        (["qkv_proj"], QKV, (False, True, True, True, False, False)),
        (["q_proj"], QKV, (False, False, False, False, None, None)),
        (["model.gate_proj", "model.up_proj"], GATE, (True, True, True, True, True, True)),
    ],
)
def test_fp8(entries: list[str], name: str, expected: tuple[bool | None, ...]) -> None:
    versions = ("0.5.6", "0.5.8", "0.5.9", "0.5.10", "0.5.11", "0.5.23")
    found = tuple(said("fp8", version, name, ignored_layers=entries) for version in versions)
    assert found == expected


def test_the_second_key_of_fp8_counts_where_the_engine_reads_it() -> None:
    found = [said("fp8", v, DOWN, modules_to_not_convert=["model.down_proj"]) for v in ("0.5.6", "0.5.9")]
    assert found == [False, True]


@pytest.mark.parametrize("method", ["awq", "awq_marlin"])
def test_awq_looks_for_the_entry_anywhere(method: str) -> None:
    for version in ("0.5.4.post1", "0.5.23"):
        assert said(method, version, OUT, modules_to_not_convert=["self_attn"]) is True
        assert said(method, version, QKV, modules_to_not_convert=["self_attn"]) is False


@pytest.mark.parametrize(
    ("method", "block"),
    [
        ("modelopt", {"exclude_modules": ["*"]}),
        ("gptq", {"dynamic": {"-:.*": {}}}),
        ("fp8", {"ignored_layers": "down_proj"}),
        ("fp8", {"ignored_layers": [1]}),
        ("compressed-tensors", {"ignore": ["re:("]}),
        ("compressed-tensors", {"ignore": ["fc"], "linear_fp8_config": {"activation_scheme": "dynamic"}}),
    ],
)
def test_what_was_not_read_is_not_known(method: str, block: dict[str, Any]) -> None:
    assert said(method, "0.5.23", DOWN, **block) is None
