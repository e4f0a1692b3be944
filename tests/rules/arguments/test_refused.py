"""Checks that the engine makes of its arguments, as findings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.rules.examples import materialize
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.runner import validate
from eaglecfg.source.read import read_document

LORA = {"lora_paths": ["sql=adapters/sql"], "max_lora_rank": 16}
PAGES = {"attention_backend": "fa3", "page_size": 64}


def report_of(
    folder: Path, server: Mapping[str, Any], version: str = "0.5.14", target: Any = None, **deployment: Any
) -> Report:
    example = {"engine": version, "deployment": {**deployment, "server": server}, "target": target or {}}
    path = materialize(example, folder)
    return validate([read_document(path, shown=path.name)], select=["EC330", "EC350"])


def messages(report: Report) -> list[str]:
    return [found.finding.message for found in report.findings]


@pytest.mark.parametrize(
    ("version", "found"),
    [
        ("0.5.5.post2", 0),
        ("0.5.5.post3", 1),
        ("0.5.9", 1),
        ("0.5.14", 1),
        ("0.5.18", 1),
        ("0.5.19", 0),
        ("0.5.23", 0),
    ],
)
def test_adapters_do_not_go_with_a_draft_in_the_versions_that_say_so(
    version: str, found: int, tmp_path: Path
) -> None:
    report = report_of(tmp_path, LORA, version)
    assert len(report.findings) == found
    assert all(each.rule.id == "EC330" for each in report.findings)


def test_adapters_without_a_draft_are_fine(tmp_path: Path) -> None:
    assert messages(report_of(tmp_path, LORA, speculative="off", draft=None)) == []


def test_a_switch_that_is_off_is_no_conflict(tmp_path: Path) -> None:
    assert messages(report_of(tmp_path, {"enable_lora": False, "enable_pdmux": False})) == []


@pytest.mark.parametrize(
    ("size", "found"), [(1000, 1), ("1000", 1), (8192, 0), ("1k", 1), ("8Ki", 0), (-1, 0), (0, 0)]
)
def test_chunks_are_whole_pages(size: Any, found: int, tmp_path: Path) -> None:
    assert len(messages(report_of(tmp_path, {**PAGES, "chunked_prefill_size": size}))) == found


def test_chunks_are_counted_in_an_attention_group(tmp_path: Path) -> None:
    parallel = {"tp_size": 2, "dp_size": 2, "enable_dp_attention": True}
    report = report_of(tmp_path, {**PAGES, "chunked_prefill_size": 64}, parallel=parallel)
    assert messages(report) == [
        "chunked_prefill_size must be a multiple of page_size 64, but is 32 in each of 2 attention groups"
    ]
    assert messages(report_of(tmp_path, {**PAGES, "chunked_prefill_size": 128}, parallel=parallel)) == []


def test_chunks_of_a_target_that_sees_may_be_off(tmp_path: Path) -> None:
    sees = {"config": {"vision_config": {"depth": 2}}}
    assert messages(report_of(tmp_path, {**PAGES, "chunked_prefill_size": 1000}, target=sees)) == []


def test_the_decode_side_has_no_chunks(tmp_path: Path) -> None:
    server = {**PAGES, "chunked_prefill_size": 1000, "disaggregation_mode": "decode"}
    assert messages(report_of(tmp_path, server)) == []


def test_the_decode_side_keeps_no_prefix_tree_unless_it_is_told_to(tmp_path: Path) -> None:
    decode = {"disaggregation_mode": "decode", "enable_hierarchical_cache": True}
    assert messages(report_of(tmp_path, decode)) == [
        "disaggregation_mode decode does not go with enable_hierarchical_cache"
    ]
    told = {**decode, "disaggregation_decode_enable_radix_cache": True}
    assert messages(report_of(tmp_path, told, "0.5.23")) == []


def test_what_the_engine_picks_by_the_gpu_is_left_open(tmp_path: Path) -> None:
    report = report_of(tmp_path, {"enable_mis": True})
    assert messages(report) == []
    assert [skip.reason for skip in report.not_checked if skip.rule.id == "EC350"] == [
        "whether sglang takes enable_mis depends on the attention backend, which the engine picks by the GPU"
    ]
    assert messages(report_of(tmp_path, {"enable_mis": True, "attention_backend": "flashinfer"})) == []
    assert len(messages(report_of(tmp_path, {"enable_mis": True, "attention_backend": "triton"}))) == 1


def test_a_variable_that_the_launch_sets_is_left_open(tmp_path: Path) -> None:
    name = "SGLANG_ENABLE_OVERLAP_PLAN_STREAM"
    report = report_of(tmp_path, LORA, "0.5.23", env={name: f"${{{name}}}"})
    assert messages(report) == []
    assert len(messages(report_of(tmp_path, LORA, "0.5.23", env={name: "1"}))) == 1
    assert messages(report_of(tmp_path, LORA, "0.5.23", env={name: "0"})) == []


def test_decode_context_parallelism_is_a_question_of_the_gpu_where_it_began(tmp_path: Path) -> None:
    def found(**hardware: Any) -> Report:
        return report_of(tmp_path, {"dcp_size": 2}, "0.5.15", parallel={"tp_size": 2}, **hardware)

    assert len(messages(found(hardware={"gpu": "H200"}))) == 1
    assert messages(found(hardware={"gpu": "MI300X"})) == []
    assert messages(found()) == []


def test_a_value_that_another_rule_refuses_is_not_judged_again(tmp_path: Path) -> None:
    assert messages(report_of(tmp_path, {"tokenizer_worker_num": "many"})) == []
    assert messages(report_of(tmp_path, {"enable_lora": "yes"})) == []


def test_a_flag_by_an_alias_and_in_a_block_counts(tmp_path: Path) -> None:
    parallel = {"tp_size": 4, "dp_size": 4, "enable_dp_attention": True}
    assert messages(report_of(tmp_path, {"moe-dense-tp-size": 2}, parallel=parallel)) == [
        "moe_dense_tp_size must be 1 or 4, but is 2"
    ]


def test_names_of_object_stores_may_hold_a_colon(tmp_path: Path) -> None:
    assert messages(report_of(tmp_path, {"served_model_name": "s3://bucket/model"})) == []


def test_every_finding_names_its_place_and_says_what_to_do(tmp_path: Path) -> None:
    server = {
        "served_model_name": "a:b", "enable_hierarchical_cache": True, "disable_radix_cache": True,
        "ssl_keyfile": "key.pem", "gc_threshold": [1, 2, 3, 4], "schedule_policy": "lpm",
        "enable_priority_scheduling": True, "moe_dense_tp_size": 3, "swa_full_tokens_ratio": 2.0, **LORA,
    }  # fmt: skip
    report = report_of(tmp_path, server)
    assert len(report.findings) == 8
    for found in report.findings:
        assert found.finding.help
        assert "None" not in found.finding.message + found.finding.help
        assert found.finding.path[0] == "deployments"
        assert found.finding.evidence[0].text.startswith("srt/")


ODD = [[], {}, [[]], [None], "", " ", "1" * 400, float("inf"), float("nan"), -1, 10**400, True, [True]]
"""What no parser takes, or hardly: other rules say so where it is wrong."""


@pytest.mark.parametrize(
    "name",
    [
        "chunked_prefill_size", "gc_threshold", "lora_paths", "lora_target_modules", "max_loaded_loras",
        "moe_dense_tp_size", "page_size", "prompt_tokens_buckets", "schedule_policy", "served_model_name",
        "swa_full_tokens_ratio", "tokenizer_worker_num",
    ],
)  # fmt: skip
@pytest.mark.parametrize("version", ["0.5.4.post1", "0.5.23"])
def test_odd_values_break_no_check(name: str, version: str, tmp_path: Path) -> None:
    for value in ODD:
        report = report_of(tmp_path, {**PAGES, "enable_priority_scheduling": True, name: value}, version)
        assert report.crashes == ()
        assert all(len(message) < 700 for message in messages(report))
