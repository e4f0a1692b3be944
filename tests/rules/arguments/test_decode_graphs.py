"""What switches the CUDA graphs of decode off, or keeps them small, under whatever name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.engines.decode_graphs import switched_off
from eaglecfg.engines.table import known_versions
from eaglecfg.rules.outcome import Reported
from tests.engines.build import resolved
from tests.rules.pairs import check

VERSIONS = known_versions("sglang")
DEEPEP: dict[str, Any] = {"moe_a2a_backend": "deepep", "deepep_mode": "normal"}
DUMP: dict[str, Any] = {"debug_tensor_dump_output_folder": "/tmp/dump"}


def found(folder: Path, engine: str, server: dict[str, Any], rule: str, **deployment: Any) -> list[Reported]:
    report = check(folder, engine=engine, deployment={"server": server, **deployment})
    return [one for one in report.findings if one.rule.id == rule]


@pytest.mark.parametrize("version", VERSIONS)
def test_deepep_normal_switches_them_off_in_every_version(version: str) -> None:
    off = switched_off(resolved(version, **DEEPEP))
    assert off is not None
    assert off.flag == "deepep_mode"
    assert not resolved(version, **DEEPEP).graphs


@pytest.mark.parametrize(
    ("settings", "first"),
    [
        (DUMP, "0.5.4.post2"),
        ({"msprobe_dump_config": "dump.json"}, "0.5.11"),
        ({"enable_mis": True}, "0.5.11"),
    ],
)
def test_from_which_version_on(settings: dict[str, Any], first: str) -> None:
    off = [version for version in VERSIONS if switched_off(resolved(version, **settings)) is not None]
    assert off == list(VERSIONS[VERSIONS.index(first) :])


@pytest.mark.parametrize(
    "settings",
    [
        {"moe_a2a_backend": "deepep", "deepep_mode": "auto"},
        {"moe_a2a_backend": "mori", "deepep_mode": "normal"},
        {"deepep_mode": "normal"},
        {"enable_mis": False},
        {"cuda_graph_config": {"prefill": {"backend": "disabled"}}},
        {"cuda_graph_config": {"decode": {"backend": "full"}}, "disable_cuda_graph": True},
        {"cuda_graph_backend_decode": "full", "disable_cuda_graph": True},
        {"disable_prefill_cuda_graph": True},
        {"cuda_graph_config": "no json"},
    ],
)
def test_what_leaves_them_on(settings: dict[str, Any]) -> None:
    assert switched_off(resolved("0.5.23", **settings)) is None
    assert resolved("0.5.23", **settings).graphs


@pytest.mark.parametrize(
    "settings",
    [
        {"cuda_graph_config": {"decode": {"backend": "disabled"}}},
        {"cuda_graph_config": json.dumps({"decode": {"backend": "disabled"}})},
        {"disable_decode_cuda_graph": True},
        {"cuda_graph_backend_decode": "disabled"},
        {"cuda_graph_config": {"decode": {"backend": "full"}}, **DEEPEP},
    ],
)
def test_other_spellings_are_told(tmp_path: Path, settings: dict[str, Any]) -> None:
    (one,) = found(tmp_path, "0.5.23", settings, "EC331")
    assert one.finding.path[-1] in settings


def test_a_server_for_prefill_decodes_nothing(tmp_path: Path) -> None:
    server = {**DUMP, "disaggregation_mode": "prefill", "cuda_graph_max_bs_decode": 1}
    assert found(tmp_path, "0.5.23", server, "EC331") == []


@pytest.mark.parametrize(
    ("engine", "server", "number"),
    [
        ("0.5.9", {"cuda_graph_bs": [1, 2]}, "2"),
        ("0.5.14", {"cuda_graph_bs_decode": [4, 1, 2]}, "4"),
        ("0.5.14", {"cuda_graph_bs_decode": "8"}, "8"),
        ("0.5.23", {"cuda_graph_config": {"decode": {"bs": [1, 2, 4]}}}, "4"),
        ("0.5.23", {"cuda_graph_config": '{"decode": {"max_bs": 3}}'}, "3"),
        ("0.5.23", {"cuda_graph_config": {"decode": {"max_bs": 3}}, "cuda_graph_max_bs_decode": 64}, "3"),
        ("0.5.23", {"cuda_graph_bs_decode": [1, 2], "cuda_graph_max_bs_decode": 64}, "2"),
    ],
)
def test_graphs_that_end_early(tmp_path: Path, engine: str, server: dict[str, Any], number: str) -> None:
    (one,) = found(tmp_path, engine, {**server, "max_running_requests": 16}, "EC325")
    assert f" {number} " in one.finding.message
    assert "16" in one.finding.message


@pytest.mark.parametrize(
    ("engine", "server"),
    [
        ("0.5.9", {"cuda_graph_bs": [1, 16]}),
        ("0.5.23", {"cuda_graph_bs_decode": [1, 2, 16], "cuda_graph_max_bs_decode": 2}),
        ("0.5.23", {"cuda_graph_config": {"decode": {"bs": [16]}}, "cuda_graph_bs_decode": [1]}),
        ("0.5.23", {"cuda_graph_config": {"prefill": {"max_bs": 3}}}),
        ("0.5.23", {"cuda_graph_max_bs_prefill": 3}),
        ("0.5.23", {"cuda_graph_bs_decode": ["many"]}),
        ("0.5.23", {"cuda_graph_max_bs_decode": 2, "disable_decode_cuda_graph": True}),
        ("0.5.23", {"cuda_graph_max_bs_decode": 2, "disaggregation_mode": "prefill"}),
    ],
)
def test_graphs_that_reach_far_enough(tmp_path: Path, engine: str, server: dict[str, Any]) -> None:
    assert found(tmp_path, engine, {**server, "max_running_requests": 16}, "EC325") == []


@pytest.mark.parametrize(("largest", "told"), [(4, True), (8, False)])
def test_groups_of_dp_attention_share_the_requests(tmp_path: Path, largest: int, told: bool) -> None:
    parallel = {"tp_size": 4, "dp_size": 4, "enable_dp_attention": True}
    server = {"cuda_graph_max_bs_decode": largest, "max_running_requests": 32}
    assert bool(found(tmp_path, "0.5.23", server, "EC325", parallel=parallel)) is told


@pytest.mark.parametrize(
    ("server", "words"),
    [
        ({"cuda_graph_backend_decode": "disabled"}, "cuda_graph_backend_decode disabled runs"),
        ({"disable_cuda_graph": True}, "disable_cuda_graph runs"),
    ],
)
def test_a_flag_is_named_with_what_it_says(tmp_path: Path, server: dict[str, Any], words: str) -> None:
    (one,) = found(tmp_path, "0.5.14", server, "EC331")
    assert one.finding.message.startswith(words)
