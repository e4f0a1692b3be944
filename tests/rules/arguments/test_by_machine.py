"""Rules about arguments that hold on some machines only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.rules.examples import materialize
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.runner import validate
from eaglecfg.source.read import read_document

OPEN = {"num_steps": None, "eagle_topk": None, "num_draft_tokens": None}
QWEN = {"config": {"architectures": ["Qwen3ForCausalLM"]}}
NVFP4 = {
    "kv_cache_dtype": "nvfp4",
    "attention_backend": "trtllm_mha",
    "speculative_draft_attention_backend": "triton",
}


def report_of(folder: Path, rule: str, example: Mapping[str, Any]) -> Report:
    path = materialize(example, folder)
    return validate([read_document(path, shown=path.name)], select=[rule])


@pytest.mark.parametrize(
    ("gpu", "version", "found"),
    [
        ("B200", "0.5.23", 1),
        ("GB300 NVL72", "0.5.9", 1),
        ("B200", "0.5.6", 0),
        ("H200", "0.5.23", 0),
        ("RTX PRO 6000", "0.5.23", 0),
    ],
)
def test_an_open_shape_costs_the_backend_on_data_centre_blackwell(
    gpu: str, version: str, found: int, tmp_path: Path
) -> None:
    deployment = {"speculative": OPEN, "hardware": {"gpu": gpu, "count": 1}}
    report = report_of(tmp_path, "EC335", {"engine": version, "deployment": deployment, "target": QWEN})
    assert len(report.findings) == found


def test_a_backend_of_the_users_choice_is_no_loss(tmp_path: Path) -> None:
    hardware = {"gpu": "B200", "count": 1}
    deployment = {"speculative": OPEN, "hardware": hardware, "server": {"attention_backend": "fa4"}}
    assert not report_of(tmp_path, "EC335", {"deployment": deployment, "target": QWEN}).findings


def test_a_tree_by_the_engines_choice_could_not_have_it_anyway(tmp_path: Path) -> None:
    deployment = {"speculative": OPEN, "hardware": {"gpu": "B200", "count": 1}}
    assert not report_of(tmp_path, "EC335", {"engine": "0.5.12", "deployment": deployment}).findings


def test_an_nvfp4_cache_on_an_unknown_gpu_is_not_decided(tmp_path: Path) -> None:
    report = report_of(tmp_path, "EC337", {"deployment": {"server": NVFP4}})
    assert not report.findings
    assert "hardware.gpu" in report.not_checked[0].reason


def test_an_nvfp4_cache_on_another_blackwell_has_no_layout_of_its_own(tmp_path: Path) -> None:
    deployment = {"server": NVFP4, "hardware": {"gpu": "RTX PRO 6000", "count": 1}}
    report = report_of(tmp_path, "EC337", {"deployment": deployment})
    assert not report.findings
    assert report.not_applicable == 1


def test_an_nvfp4_cache_does_not_go_with_split_servers(tmp_path: Path) -> None:
    server = {"kv_cache_dtype": "nvfp4", "attention_backend": "trtllm_mha", "disaggregation_mode": "decode"}
    deployment = {"server": server, "hardware": {"gpu": "B200", "count": 1}}
    (found,) = report_of(tmp_path, "EC337", {"deployment": deployment}).findings
    assert "disaggregation_mode decode" in found.finding.message


@pytest.mark.parametrize(("version", "found"), [("0.5.12", 1), ("0.5.18", 1), ("0.5.22", 1), ("0.5.23", 0)])
def test_a_decode_side_prefix_tree_goes_with_eagle3_from_one_version_on(
    version: str, found: int, tmp_path: Path
) -> None:
    server = {"disaggregation_mode": "decode", "disaggregation_decode_enable_radix_cache": True}
    report = report_of(tmp_path, "EC330", {"engine": version, "deployment": {"server": server}})
    assert len(report.findings) == found


def test_the_prefix_tree_is_no_matter_on_the_prefill_side(tmp_path: Path) -> None:
    server = {"disaggregation_mode": "prefill", "disaggregation_decode_enable_radix_cache": True}
    report = report_of(tmp_path, "EC330", {"engine": "0.5.18", "deployment": {"server": server}})
    assert not report.findings
