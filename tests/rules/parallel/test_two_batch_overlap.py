"""Two-batch overlap: what refuses it at start comes before what it does to a draft."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eaglecfg.rules.outcome import Report
from tests.rules.pairs import check

MOE = {"config": {"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe"}}
VERSIONS = ["0.5.7", "0.5.12", "0.5.14", "0.5.15", "0.5.16", "0.5.18", "0.5.19", "0.5.21", "0.5.22", "0.5.23"]
FLAG = "enable_two_batch_overlap"


def told(folder: Path, version: str, server: dict[str, Any], parallel: dict[str, Any], moe: bool) -> Report:
    deployment = {"server": {FLAG: True, **server}, "parallel": parallel}
    return check(folder, engine=version, deployment=deployment, **({"target": MOE} if moe else {}))


def rules(report: Report) -> set[str]:
    assert not report.crashes
    return {each.rule.id for each in report.findings} & {"EC350", "EC415"}


@pytest.mark.parametrize("moe", [False, True])
@pytest.mark.parametrize("version", VERSIONS)
def test_without_experts_apart_and_attention_groups_it_is_refused(
    version: str, moe: bool, tmp_path: Path
) -> None:
    report = told(tmp_path, version, {}, {"tp_size": 2}, moe)
    assert rules(report) == {"EC350"}


@pytest.mark.parametrize("version", ["0.5.15", "0.5.19", "0.5.21"])
def test_attention_groups_of_before_let_it_start(version: str, tmp_path: Path) -> None:
    parallel = {"tp_size": 2, "dp_size": 2, "enable_dp_attention": True}
    assert rules(told(tmp_path, version, {}, parallel, moe=True)) == {"EC415"}


@pytest.mark.parametrize("version", ["0.5.22", "0.5.23"])
def test_attention_groups_let_it_start(version: str, tmp_path: Path) -> None:
    assert rules(told(tmp_path, version, {"attn_dp_size": 2}, {"tp_size": 2}, moe=True)) == {"EC415"}


@pytest.mark.parametrize("version", ["0.5.14", "0.5.15", "0.5.23"])
def test_experts_apart_let_it_start(version: str, tmp_path: Path) -> None:
    parallel = {"tp_size": 2, "ep_size": 2}
    report = told(tmp_path, version, {"moe_a2a_backend": "deepep"}, parallel, moe=True)
    assert rules(report) == {"EC415"}


def test_one_rank_is_told_as_one_and_not_as_true(tmp_path: Path) -> None:
    report = check(tmp_path, deployment={"server": {"enable_quant_communications": True}})
    (message,) = [each.finding.message for each in report.findings if each.rule.id == "EC350"]
    assert message == "enable_quant_communications does not go with tp_size 1"
