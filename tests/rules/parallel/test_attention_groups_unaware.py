"""Data-parallel attention is warned of for the target classes without code for it, and for no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eaglecfg.engines.table import known_versions, load_facts
from tests.rules.pairs import check

TWO = {"tp_size": 2, "dp_size": 2, "enable_dp_attention": True}
AWARE = (
    "DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "KimiK25ForConditionalGeneration",
    "Qwen2MoeForCausalLM", "Qwen3ForCausalLM", "Qwen3MoeForCausalLM", "Qwen3VLForConditionalGeneration",
    "Llama4ForCausalLM",
    "Llama4ForConditionalGeneration", "Glm4MoeForCausalLM", "GptOssForCausalLM", "Qwen3NextForCausalLM",
    "Qwen3_5ForConditionalGeneration", "BailingMoeV2ForCausalLM",
)  # fmt: skip
UNAWARE = (
    "LlamaForCausalLM",
    "MistralForCausalLM",
    "Qwen2ForCausalLM",
    "Gemma3ForCausalLM",
    "ApertusForCausalLM",
)


def warned(folder: Path, architecture: str, version: str = "0.5.14", **deployment: Any) -> bool:
    target = {"config": {"architectures": [architecture]}}
    report = check(folder, title="", engine=version, target=target, deployment=deployment)
    assert not report.crashes
    return any(one.rule.id == "EC422" for one in report.findings)


@pytest.mark.parametrize("version", known_versions("sglang"))
def test_the_facts_name_no_class_that_has_the_code(version: str) -> None:
    facts = load_facts("sglang", version)
    assert facts is not None
    named = facts.values["whole_group_heads"]
    assert set(UNAWARE) <= set(named)
    assert not set(AWARE) & set(named)
    assert ("MiniMaxM2ForCausalLM" in named) is (
        known_versions("sglang").index(version) < known_versions("sglang").index("0.5.11")
    )


@pytest.mark.parametrize("architecture", UNAWARE)
def test_a_class_that_cuts_heads_over_all_ranks_is_warned_of(architecture: str, tmp_path: Path) -> None:
    assert warned(tmp_path, architecture, parallel=TWO)


@pytest.mark.parametrize("architecture", AWARE)
def test_a_class_that_has_the_code_is_not(architecture: str, tmp_path: Path) -> None:
    assert not warned(tmp_path, architecture, parallel=TWO)


@pytest.mark.parametrize(
    "parallel",
    [
        {"tp_size": 2},
        {"tp_size": 2, "dp_size": 2},
        {"tp_size": 2, "dp_size": 1, "enable_dp_attention": True},
        {"tp_size": 2, "enable_dp_attention": True},
    ],
)
def test_without_groups_there_is_nothing_to_warn_of(parallel: dict[str, Any], tmp_path: Path) -> None:
    assert not warned(tmp_path, "LlamaForCausalLM", parallel=parallel)


def test_groups_under_another_name_and_without_speculation_count_too(tmp_path: Path) -> None:
    assert warned(tmp_path / "a", "LlamaForCausalLM", parallel={"tp_size": 2, "attn_dp_size": 2})
    assert warned(
        tmp_path / "b", "LlamaForCausalLM", parallel=TWO, draft=None, capture=None, speculative="off"
    )
