"""Backends against kinds of attention, classes and GPUs, as given and as the engine picks them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.rules.examples import materialize
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.runner import validate
from eaglecfg.source.read import read_document

RULES = ("EC313", "EC314", "EC342", "EC343", "EC344", "EC345")
MLA = {"kv_lora_rank": 64, "qk_nope_head_dim": 32, "qk_rope_head_dim": 16}
KIMI = {"config": {"architectures": ["KimiK25ForConditionalGeneration"], **MLA}}
DEEPSEEK = {"config": {"architectures": ["DeepseekV3ForCausalLM"], **MLA}}
SPARSE = {"config": {"architectures": ["GlmMoeDsaForCausalLM"], "index_topk": 2048, **MLA}}
MLA_DRAFT = {"config": {"architectures": ["Eagle3DeepseekV2ForCausalLM"], **MLA}}
OWN = "speculative_draft_attention_backend"


def report_of(folder: Path, **example: Any) -> Report:
    path = materialize(example, folder)
    return validate([read_document(path, shown=path.name)], select=RULES)


def rules_of(report: Report) -> list[str]:
    return [one.rule.id for one in report.findings]


def deployment(gpu: str | None = None, topk: int = 1, **server: Any) -> Mapping[str, Any]:
    hardware = {"hardware": {"gpu": gpu, "count": 1}} if gpu else {}
    shape = {"speculative": {"eagle_topk": topk, "num_draft_tokens": 4 if topk == 1 else 8}}
    return {**hardware, **shape, "server": server}


def run(folder: Path, version: str, target: Any, draft: Any = None, **settings: Any) -> Report:
    example = {"engine": version, "deployment": deployment(**settings), "target": target}
    return report_of(folder, **example, **({"draft": draft} if draft else {}))


@pytest.mark.parametrize("version", ["0.5.10", "0.5.12", "0.5.14", "0.5.17", "0.5.20", "0.5.23"])
def test_a_llama_draft_of_kimi_stops_on_blackwell_and_runs_on_hopper(version: str, tmp_path: Path) -> None:
    assert rules_of(run(tmp_path, version, KIMI, gpu="B200")) == ["EC342"]
    assert rules_of(run(tmp_path, version, KIMI, gpu="H200")) == []
    assert rules_of(run(tmp_path, version, KIMI, gpu="RTX PRO 6000")) == []
    assert rules_of(run(tmp_path, version, KIMI, gpu="B200", **{OWN: "flashinfer"})) == []
    assert rules_of(run(tmp_path, version, KIMI, gpu="B200", attention_backend="flashinfer")) == []


def test_an_mla_draft_runs_on_what_its_target_runs_on(tmp_path: Path) -> None:
    assert rules_of(run(tmp_path, "0.5.14", KIMI, MLA_DRAFT, gpu="B200")) == []
    assert rules_of(run(tmp_path, "0.5.14", KIMI, MLA_DRAFT, gpu="B200", **{OWN: "trtllm_mha"})) == ["EC342"]


def test_without_a_gpu_the_backend_that_is_picked_is_not_checked(tmp_path: Path) -> None:
    report = run(tmp_path, "0.5.14", KIMI)
    assert rules_of(report) == []
    assert [(one.rule.id, one.reason) for one in report.not_checked] == [
        ("EC342", "needs the hardware block")
    ]
    unknown = run(tmp_path, "0.5.14", KIMI, gpu="MI300X")
    assert rules_of(unknown) == []
    assert "MI300X" in unknown.not_checked[0].reason


def test_a_llama_pair_needs_no_gpu_for_its_kind_of_attention(tmp_path: Path) -> None:
    report = run(tmp_path, "0.5.23", {})
    assert rules_of(report) == []
    assert [one for one in report.not_checked if one.rule.id == "EC342"] == []


@pytest.mark.parametrize("version", ["0.5.9", "0.5.14", "0.5.23"])
def test_a_sparse_target_hands_its_backend_to_a_draft_that_has_no_index(version: str, tmp_path: Path) -> None:
    report = run(tmp_path, version, SPARSE)
    assert rules_of(report) == ["EC342"]
    assert OWN in report.findings[0].finding.help
    assert rules_of(run(tmp_path, version, SPARSE, **{OWN: "fa3"})) == []


def test_a_version_without_a_backend_for_the_draft_is_told_another_way(tmp_path: Path) -> None:
    report = run(tmp_path, "0.5.6", DEEPSEEK, gpu="B200")
    assert rules_of(report) == ["EC342"]
    assert OWN not in report.findings[0].finding.help + report.findings[0].finding.why
    assert "attention_backend: flashinfer" in report.findings[0].finding.help


@pytest.mark.parametrize("name", ["trtllm_mla", "flashmla", "cutlass_mla", "cutedsl_mla", "dsa", "nsa"])
def test_a_llama_target_is_judged_once_for_a_backend_of_another_kind(name: str, tmp_path: Path) -> None:
    report = run(tmp_path, "0.5.14", {}, attention_backend=name)
    assert rules_of(report) == ["EC342"]
    assert "target" in report.findings[0].finding.message


def test_an_overridden_class_counts(tmp_path: Path) -> None:
    override = '{"architectures": ["LlamaForCausalLM"]}'
    report = run(tmp_path, "0.5.14", DEEPSEEK, gpu="B200", json_model_override_args=override)
    assert "EC342" not in rules_of(report)


@pytest.mark.parametrize(
    ("name", "allowed", "refused", "since"),
    [
        ("GptOssForCausalLM", "fa3", "flashinfer", "0.5.9"),
        ("Llama4ForConditionalGeneration", "triton", "flashinfer", "0.5.9"),
        ("Gemma4ForCausalLM", "triton", "fa3", "0.5.13"),
    ],
)
def test_a_class_runs_on_the_backends_of_its_list(
    name: str, allowed: str, refused: str, since: str, tmp_path: Path
) -> None:
    target = {"config": {"architectures": [name]}}
    for version in (since, "0.5.14", "0.5.23"):
        assert rules_of(run(tmp_path, version, target, gpu="H200", attention_backend=allowed)) == []
        found = run(tmp_path, version, target, gpu="H200", attention_backend=refused)
        assert rules_of(found) == ["EC343"]
        assert refused in found.findings[0].finding.message
        assert rules_of(run(tmp_path, version, target, gpu="H200", decode_attention_backend=refused)) == [
            "EC343"
        ] or name.startswith("Llama4")


def test_gemma4_took_any_backend_before_it_had_a_list(tmp_path: Path) -> None:
    target = {"config": {"architectures": ["Gemma4ForCausalLM"]}}
    assert rules_of(run(tmp_path, "0.5.12", target, gpu="H200", attention_backend="fa3")) == []


@pytest.mark.parametrize(
    ("version", "gpu", "backend", "target", "found"),
    [
        ("0.5.14", "H200", "trtllm_mla", DEEPSEEK, True),
        ("0.5.14", "B200", "trtllm_mla", DEEPSEEK, False),
        ("0.5.14", "RTX PRO 6000", "trtllm_mla", DEEPSEEK, False),
        ("0.5.4.post1", "RTX PRO 6000", "trtllm_mla", DEEPSEEK, True),
        ("0.5.14", "RTX PRO 6000", "cutedsl_mla", DEEPSEEK, True),
        ("0.5.14", "B200", "fa3", {}, True),
        ("0.5.14", "A100", "fa3", {}, False),
        ("0.5.14", "L40S", "fa3", {}, False),
        ("0.5.14", "A100", "fa3", DEEPSEEK, True),
        ("0.5.14", "H200", "fa3", DEEPSEEK, False),
        ("0.5.9", "H200", "trtllm_mha", {}, True),
        ("0.5.14", "H200", "trtllm_mha", {}, True),
        ("0.5.19", "H200", "trtllm_mha", {}, False),
        ("0.5.19", "A100", "trtllm_mha", {}, True),
        ("0.5.14", "A100", "triton", {}, False),
        ("0.5.14", "MI300X", "fa3", {}, False),
    ],
)
def test_a_backend_is_bound_to_its_gpus(
    version: str, gpu: str, backend: str, target: Any, found: bool, tmp_path: Path
) -> None:
    own = {OWN: "triton"} if target else {}
    report = run(tmp_path, version, target, gpu=gpu, attention_backend=backend, **own)
    assert [one for one in rules_of(report) if one == "EC344"] == (["EC344"] if found else [])


def test_decode_alone_may_run_trtllm_mha_on_hopper(tmp_path: Path) -> None:
    report = run(tmp_path, "0.5.14", {}, gpu="H200", decode_attention_backend="trtllm_mha")
    assert rules_of(report) == []


def test_the_drafts_own_backend_is_bound_too(tmp_path: Path) -> None:
    assert rules_of(run(tmp_path, "0.5.14", KIMI, gpu="B200", **{OWN: "fa3"})) == ["EC344"]


def test_pages_that_a_backend_forces_are_no_place_for_trees(tmp_path: Path) -> None:
    report = run(tmp_path, "0.5.14", DEEPSEEK, topk=4, attention_backend="flashmla", **{OWN: "flashinfer"})
    assert rules_of(report) == ["EC313"]
    finding = report.findings[0].finding
    assert "64" in finding.message
    assert "page_size: 1" not in finding.help
    free = run(tmp_path, "0.5.12", {}, topk=4, attention_backend="triton", page_size=16)
    assert "page_size: 1" in free.findings[0].finding.help


@pytest.mark.parametrize(
    ("name", "gpu", "found"),
    [
        ("GptOssForCausalLM", "B200", ["EC313"]),
        ("GptOssForCausalLM", "H200", []),
        ("GptOssForCausalLM", "RTX PRO 6000", []),
        ("LlamaForCausalLM", "B200", []),
        ("Qwen3NextForCausalLM", "B200", []),
    ],
)
def test_trees_meet_the_backend_that_the_engine_picks(
    name: str, gpu: str, found: list[str], tmp_path: Path
) -> None:
    target = {"config": {"architectures": [name]}}
    report = run(tmp_path, "0.5.14", target, gpu=gpu, topk=4)
    assert rules_of(report) == found
    if found:
        assert "attention_backend: triton" in report.findings[0].finding.help


@pytest.mark.parametrize(
    ("version", "settings", "found"),
    [
        ("0.5.9", {}, False),
        ("0.5.10", {}, True),
        ("0.5.13.post1", {}, True),
        ("0.5.14", {}, False),
        ("0.5.10", {"mamba_scheduler_strategy": "no_buffer"}, True),
        ("0.5.10", {"mamba_scheduler_strategy": "extra_buffer"}, False),
        ("0.5.13", {"mamba_scheduler_strategy": "extra_buffer_lazy"}, True),
        ("0.5.10", {"disable_radix_cache": True}, False),
        ("0.5.10", {"disable_radix_cache": True, "mamba_scheduler_strategy": "extra_buffer"}, True),
        ("0.5.12", {"gpu": "MI300X"}, False),
    ],
)
def test_a_hybrid_target_speculates_with_its_cache_where_the_version_lets_it(
    version: str, settings: dict[str, Any], found: bool, tmp_path: Path
) -> None:
    target = {"config": {"architectures": ["Qwen3NextForCausalLM"]}}
    report = run(tmp_path, version, target, **settings)
    assert rules_of(report) == (["EC345"] if found else [])


def test_a_hybrid_target_without_speculation_is_left_alone(tmp_path: Path) -> None:
    target = {"config": {"architectures": ["Qwen3NextForCausalLM"]}}
    report = report_of(
        tmp_path,
        engine="0.5.10",
        target=target,
        deployment={"draft": None, "speculative": "off", "capture": None},
    )
    assert rules_of(report) == []
