"""What the engine picks as attention backend, and what a backend takes."""

from __future__ import annotations

from typing import Any

import pytest

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.engines.arguments import Argument
from eaglecfg.engines.attention import attention_kind, is_dsa, misfit
from eaglecfg.engines.facts import EngineFacts
from eaglecfg.engines.gpu import capability_major
from eaglecfg.engines.resolve import Resolution, resolve
from eaglecfg.engines.table import load_facts, rows_of

CHAIN = {
    "speculative_algorithm": "EAGLE3",
    "speculative_num_steps": 3,
    "speculative_eagle_topk": 1,
    "speculative_num_draft_tokens": 4,
}
TREE = {**CHAIN, "speculative_eagle_topk": 4, "speculative_num_draft_tokens": 8}
OPEN = {"speculative_algorithm": "EAGLE3"}


def facts_of(version: str) -> EngineFacts:
    facts = load_facts("sglang", version)
    assert facts is not None
    return facts


def model(name: str, **keys: Any) -> ModelConfig:
    return ModelConfig("config.json", {"architectures": [name], **keys})


def settled(version: str, name: str, gpu: str | None, flags: dict[str, Any], **keys: Any) -> Resolution:
    given = {flag: Argument(flag, value, ()) for flag, value in flags.items()}
    return resolve(facts_of(version), given, model(name, **keys), None, env={}, gpu=gpu)


@pytest.mark.parametrize(
    ("version", "name", "gpu", "flags", "backend", "page"),
    [
        ("0.5.14", "LlamaForCausalLM", "H200", CHAIN, "fa3", 1),
        ("0.5.14", "LlamaForCausalLM", "H200", TREE, "flashinfer", 1),
        ("0.5.14", "LlamaForCausalLM", "H200", {**CHAIN, "page_size": 16}, "flashinfer", 16),
        ("0.5.14", "LlamaForCausalLM", "B200", CHAIN, "trtllm_mha", 64),
        ("0.5.14", "LlamaForCausalLM", "B200", {**CHAIN, "page_size": 16}, "flashinfer", 16),
        ("0.5.14", "LlamaForCausalLM", "B200", OPEN, "flashinfer", 1),
        ("0.5.6.post1", "LlamaForCausalLM", "B200", OPEN, "trtllm_mha", 64),
        ("0.5.6", "LlamaForCausalLM", "B200", CHAIN, "flashinfer", 1),
        ("0.5.14", "LlamaForCausalLM", "A100", CHAIN, "flashinfer", 1),
        ("0.5.14", "LlamaForCausalLM", "RTX PRO 6000", CHAIN, "flashinfer", 1),
        ("0.5.7", "MistralForCausalLM", "H200", CHAIN, "flashinfer", 1),
        ("0.5.8", "MistralForCausalLM", "H200", CHAIN, "fa3", 1),
        ("0.5.14", "KimiK25ForConditionalGeneration", "B200", CHAIN, "trtllm_mla", 64),
        ("0.5.14", "KimiK25ForConditionalGeneration", "H200", CHAIN, "fa3", 1),
        ("0.5.14", "DeepseekV2ForCausalLM", "B200", CHAIN, "flashinfer", 1),
        ("0.5.14", "GptOssForCausalLM", "B200", TREE, "trtllm_mha", 64),
        ("0.5.14", "GptOssForCausalLM", "A100", TREE, "triton", 1),
        ("0.5.14", "Gemma4ForCausalLM", "H200", CHAIN, "triton", 1),
        ("0.5.14", "Qwen3NextForCausalLM", "B200", CHAIN, "trtllm_mha", 64),
        ("0.5.14", "Qwen3NextForCausalLM", "B200", TREE, "triton", 1),
        ("0.5.9", "Qwen3NextForCausalLM", "B200", CHAIN, "triton", 1),
        ("0.5.23", "MiniMaxM3SparseForCausalLM", "H200", CHAIN, "fa3", 128),
    ],
)
def test_the_engine_picks_by_class_gpu_and_shape(
    version: str, name: str, gpu: str, flags: dict[str, Any], backend: str, page: int
) -> None:
    found = settled(version, name, gpu, flags)
    assert found.runs("attention_backend") == backend
    assert found.runs("page_size") == page
    assert found.get("attention_backend").origin == "default"
    assert ".py:" in found.get("attention_backend").source


@pytest.mark.parametrize(
    ("name", "gpu", "flags"),
    [
        ("LlamaForCausalLM", None, CHAIN),
        ("LlamaForCausalLM", "MI300X", CHAIN),
        ("LlamaForCausalLM", "H200", {**CHAIN, "enable_deterministic_inference": True}),
        ("LlamaForCausalLM", "H200", {**CHAIN, "device": "cpu"}),
        ("Step3p5ForCausalLM", "H200", CHAIN),
        ("NobodysForCausalLM", "H200", CHAIN),
        ("MiniMaxM3SparseForCausalLM", "B200", {**CHAIN, "kv_cache_dtype": "fp8_e4m3"}),
    ],
)
def test_what_files_do_not_decide_stays_open(name: str, gpu: str | None, flags: dict[str, Any]) -> None:
    assert settled("0.5.23", name, gpu, flags).runs("attention_backend") is None


@pytest.mark.parametrize(("version", "backend"), [("0.5.12", "nsa"), ("0.5.13", "dsa")])
def test_sparse_attention_needs_no_gpu_to_be_known(version: str, backend: str) -> None:
    found = settled(version, "DeepseekV32ForCausalLM", None, CHAIN, index_topk=2048)
    assert (found.runs("attention_backend"), found.runs("page_size")) == (backend, 64)
    assert settled(version, "DeepseekV32ForCausalLM", None, CHAIN).runs("attention_backend") is None


def test_a_backend_that_is_given_stays_and_forces_its_pages() -> None:
    flags = {**CHAIN, "attention_backend": "cutlass_mla", "page_size": 1}
    found = settled("0.5.14", "DeepseekV3ForCausalLM", "B200", flags)
    assert found.runs("attention_backend") == "cutlass_mla"
    assert (found.runs("page_size"), found.get("page_size").origin) == (128, "rewritten")


def test_pages_are_forced_by_the_decode_backend_too() -> None:
    for flag, page in (("decode_attention_backend", 64), ("prefill_attention_backend", 1)):
        found = settled("0.5.14", "DeepseekV3ForCausalLM", "H200", {**CHAIN, flag: "flashmla"})
        assert found.runs("page_size") == page
    decodes = settled(
        "0.5.14", "DeepseekV3ForCausalLM", "B200", {**CHAIN, "decode_attention_backend": "cutedsl_mla"}
    )
    assert decodes.runs("prefill_attention_backend") == "trtllm_mla"


def test_one_backend_for_both_stages_is_the_base() -> None:
    both = {"prefill_attention_backend": "triton", "decode_attention_backend": "triton"}
    assert (
        settled("0.5.14", "LlamaForCausalLM", "B200", {**CHAIN, **both}).runs("attention_backend") == "triton"
    )


def test_llama4_had_to_be_given_a_backend_once() -> None:
    found = settled("0.5.5", "Llama4ForConditionalGeneration", "H200", CHAIN)
    assert found.get("attention_backend").origin == "refused"


def test_values_that_are_no_names_do_no_harm() -> None:
    for value in (["fa3"], {"a": 1}, 3, None, ""):
        settled("0.5.14", "LlamaForCausalLM", "B200", {**CHAIN, "attention_backend": value})
        settled("0.5.14", "LlamaForCausalLM", "B200", {**CHAIN, "page_size": value})


def test_kinds_of_attention_go_by_the_version() -> None:
    assert attention_kind(facts_of("0.5.14"), model("KimiK25ForConditionalGeneration")) == "mla"
    assert attention_kind(facts_of("0.5.14"), model("LlamaForCausalLMEagle3")) == "mha"
    assert attention_kind(facts_of("0.5.14"), model("NobodysForCausalLM")) is None
    assert attention_kind(facts_of("0.5.14"), None) is None
    pixtral = "PixtralForConditionalGeneration"
    assert attention_kind(facts_of("0.5.14"), model(pixtral)) == "mha"
    assert attention_kind(facts_of("0.5.14"), model(pixtral, kv_lora_rank=512)) == "mla"
    assert attention_kind(facts_of("0.5.9"), model(pixtral)) == "mla"


def test_a_backend_that_takes_another_kind_is_a_misfit() -> None:
    facts, llama, kimi = (
        facts_of("0.5.14"),
        model("LlamaForCausalLM"),
        model("KimiK25ForConditionalGeneration"),
    )
    sparse = model("GlmMoeDsaForCausalLM", index_topk=2048)
    assert is_dsa(facts, sparse)
    assert not is_dsa(facts, kimi)
    taken = {name: [misfit(facts, name, one) is None for one in (llama, kimi, sparse)] for name in (
        "trtllm_mla", "flashmla", "trtllm_mha", "dsa", "fa3", "triton")}  # fmt: skip
    assert taken == {
        "trtllm_mla": [False, True, True],
        "flashmla": [False, True, True],
        "trtllm_mha": [True, False, False],
        "dsa": [False, False, True],
        "fa3": [True, True, True],
        "triton": [True, True, True],
    }


@pytest.mark.parametrize(
    ("name", "major"),
    [
        ("NVIDIA H200 141GB", 9),
        ("GB300", 10),
        ("RTX PRO 6000", 12),
        ("A100-SXM4-80GB", 8),
        ("MI300X", None),
        ("", None),
        (None, None),
    ],
)
def test_the_name_of_a_gpu_gives_its_capability(name: str | None, major: int | None) -> None:
    assert capability_major(name) == major


def test_rows_of_an_engine_or_a_version_that_nobody_read_are_none() -> None:
    assert rows_of("sglang", "9.9.9", "attention.json") == {}
    assert rows_of("nobodys", "0.5.14", "attention.json") == {}
