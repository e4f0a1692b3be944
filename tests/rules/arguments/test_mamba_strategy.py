"""A strategy for the cache of recurrent states that is asked for must fit the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.rules.pairs import check

NEXT = "Qwen3NextForCausalLM"


def said(folder: Path, version: str, architecture: str = NEXT, *, off: bool = False, **server: Any) -> str:
    deployment: dict[str, Any] = {"server": server}
    if off:
        deployment |= {"draft": None, "capture": None, "speculative": "off"}
    target = {"config": {"architectures": [architecture]}}
    report = check(folder, title="", engine=version, target=target, deployment=deployment)
    assert not report.crashes
    return " ".join(one.finding.message for one in report.findings if one.rule.id == "EC345")


@pytest.mark.parametrize("version", ["0.5.14", "0.5.16", "0.5.17", "0.5.19", "0.5.23"])
@pytest.mark.parametrize(
    ("server", "clash"),
    [
        ({}, "overlap schedule"),
        ({"disable_overlap_schedule": False}, "overlap schedule"),
        ({"disable_overlap_schedule": True}, ""),
        ({"disable_overlap_schedule": True, "page_size": 1}, ""),
        ({"disable_overlap_schedule": True, "page_size": 64}, "page_size 64"),
        ({"disable_overlap_schedule": True, "attention_backend": "trtllm_mha"}, "trtllm_mha"),
        ({"disable_radix_cache": True}, ""),
        ({"pp_size": 2}, ""),
    ],
)
def test_no_buffer_goes_with_one_token_pages_and_no_overlap(
    version: str, server: dict[str, Any], clash: str, tmp_path: Path
) -> None:
    found = said(tmp_path, version, mamba_radix_cache_strategy="no_buffer", **server)
    assert (clash in found) if clash else not found


def test_the_older_name_of_the_flag_counts_too(tmp_path: Path) -> None:
    assert "mamba_scheduler_strategy" in said(tmp_path, "0.5.14", mamba_scheduler_strategy="no_buffer")


@pytest.mark.parametrize(
    ("version", "refused"), [("0.5.14", True), ("0.5.16", True), ("0.5.17", False), ("0.5.23", False)]
)
def test_the_lazy_buffer_speculates_from_0_5_17_on(version: str, refused: bool, tmp_path: Path) -> None:
    assert bool(said(tmp_path / "a", version, mamba_radix_cache_strategy="extra_buffer_lazy")) is refused
    assert not said(tmp_path / "b", version, off=True, mamba_radix_cache_strategy="extra_buffer_lazy")


def test_a_buffer_that_the_class_has_not_or_the_kernels_do_not_fill(tmp_path: Path) -> None:
    asked = {"mamba_radix_cache_strategy": "extra_buffer"}
    assert not said(tmp_path / "a", "0.5.23", **asked)
    assert "Lfm2ForCausalLM" in said(tmp_path / "b", "0.5.23", "Lfm2ForCausalLM", off=True, **asked)
    assert "flashinfer" in said(tmp_path / "c", "0.5.23", linear_attn_backend="flashinfer", **asked)


@pytest.mark.parametrize("version", ["0.5.14", "0.5.23"])
def test_what_the_engine_picks_itself_fits(version: str, tmp_path: Path) -> None:
    assert not said(tmp_path / "a", version)
    assert not said(tmp_path / "b", version, mamba_radix_cache_strategy="auto")
    assert not said(tmp_path / "c", version, "Qwen3ForCausalLM", mamba_radix_cache_strategy="no_buffer")
