"""What each engine version makes of NCCL's environment, and which all-reduce its decode runs."""

from __future__ import annotations

from typing import Any

import pytest

from eaglecfg.nccl.carrier import decode_carrier
from eaglecfg.nccl.engine_writes import Launch, effective
from eaglecfg.nccl.gpus import gpu_of


def launch(
    version: str = "0.5.23",
    *,
    env: dict[str, str] | None = None,
    tp: int = 8,
    nodes: int = 1,
    fabric: bool = False,
    **flags: Any,
) -> Launch:
    return Launch(version, flags.get, tp, tp, nodes, fabric, not flags.get("disable_cuda_graph"), env or {})


def test_nvls_and_cumem_are_off_unless_something_turns_them_on() -> None:
    assert effective("NCCL_NVLS_ENABLE", launch()).text == "0"
    assert effective("NCCL_CUMEM_ENABLE", launch()).text == "0"
    assert effective("NCCL_NVLS_ENABLE", launch(enable_nccl_nvls=True)).text == "1"
    assert effective("NCCL_CUMEM_ENABLE", launch(enable_symm_mem=True)).text == "1"


def test_a_value_of_the_users_stands_unless_a_flag_forces_it() -> None:
    kept = effective("NCCL_NVLS_ENABLE", launch(env={"NCCL_NVLS_ENABLE": "1"}))
    assert (kept.text, kept.by_engine) == ("1", False)
    forced = effective("NCCL_NVLS_ENABLE", launch(env={"NCCL_NVLS_ENABLE": "0"}, enable_nccl_nvls=True))
    assert (forced.text, forced.by_engine, forced.why) == ("1", True, "--enable-nccl-nvls")


@pytest.mark.parametrize(
    ("version", "text"), [("0.5.4.post1", "0"), ("0.5.4.post2", "1"), ("0.5.4.post3", "1")]
)
def test_the_first_version_overwrites_cumem_whatever_is_set(version: str, text: str) -> None:
    assert effective("NCCL_CUMEM_ENABLE", launch(version, env={"NCCL_CUMEM_ENABLE": "1"})).text == text


def test_symmetric_memory_leaves_nvls_alone_in_the_first_versions() -> None:
    seen = effective("NCCL_NVLS_ENABLE", launch("0.5.4.post1", enable_symm_mem=True))
    assert (seen.text, seen.by_engine) == (None, False)


def test_deterministic_mode_takes_algorithm_and_channels() -> None:
    given = {"NCCL_ALGO": "ring", "NCCL_MIN_NCHANNELS": "4"}
    now = launch(env=given, enable_deterministic_inference=True)
    assert effective("NCCL_ALGO", now).text == "allreduce:tree"
    assert effective("NCCL_MIN_NCHANNELS", now).text == "8"
    before = launch("0.5.17", env=given, enable_deterministic_inference=True)
    assert effective("NCCL_MIN_NCHANNELS", before).text == "4"
    more = launch(
        env={**given, "SGLANG_DETERMINISTIC_NCCL_NCHANNELS": "16"}, enable_deterministic_inference=True
    )
    assert effective("NCCL_MIN_NCHANNELS", more).text == "16"


@pytest.mark.parametrize(
    ("version", "text"), [("0.5.14", None), ("0.5.20", None), ("0.5.22", None), ("0.5.23", "0")]
)
def test_graph_registration_is_turned_off_by_the_last_version_for_every_graph(
    version: str, text: str | None
) -> None:
    assert effective("NCCL_GRAPH_REGISTER", launch(version)).text == text


def test_graph_registration_stays_where_nothing_is_captured() -> None:
    assert effective("NCCL_GRAPH_REGISTER", launch(disable_cuda_graph=True)).text is None
    assert effective("NCCL_GRAPH_REGISTER", launch(tp=1)).text is None


def test_fabrics_of_several_nodes_get_cumem() -> None:
    assert effective("NCCL_CUMEM_ENABLE", launch(nodes=2, fabric=True)).text == "1"
    assert effective("NCCL_CUMEM_ENABLE", launch(nodes=2)).text == "0"
    assert effective("NCCL_CUMEM_ENABLE", launch("0.5.16", nodes=2, fabric=True)).text == "0"


@pytest.mark.parametrize(
    ("topology", "gpu", "arguments", "name"),
    [
        ("single", "H200", {"tp": 1}, "none"),
        ("nvswitch", "H200", {}, "custom"),
        ("nvswitch", "H200", {"disable_custom_all_reduce": True}, "nccl"),
        ("nvswitch", "H200", {"enable_deterministic_inference": True}, "nccl"),
        ("nvswitch", "H200", {"nodes": 2, "tp": 16}, "nccl"),
        ("nvswitch", "GB200", {"nodes": 2, "tp": 8, "fabric": True}, "mixed"),
        ("nvswitch", "H200", {"enable_dp_attention": True}, "mixed"),
        ("nvswitch", "H200", {"enable_mscclpp": True}, "mixed"),
        ("nvlink-pair", "A6000", {"tp": 2}, "custom"),
        ("nvlink-pair", "A6000", {"tp": 4}, "nccl"),
        ("pcie", "RTX PRO 6000", {"tp": 2}, "custom"),
        ("pcie", "RTX PRO 6000", {"tp": 8}, "nccl"),
        ("pcie", "RTX PRO 6000", {"env": {"SGLANG_ENABLE_PCIE_IPC_ALLREDUCE": "1"}}, "mixed"),
        ("nvswitch", "H200", {"env": {"CUDA_VISIBLE_DEVICES": "GPU-1,GPU-2"}}, "nccl"),
        (None, "H200", {}, "unknown"),
        (None, None, {"disable_custom_all_reduce": True}, "nccl"),
    ],
)
def test_who_carries_decode(
    topology: str | None, gpu: str | None, arguments: dict[str, Any], name: str
) -> None:
    carrier = decode_carrier(launch(**arguments), topology, gpu_of(gpu), fused=False)
    assert carrier.name == name
    assert carrier.why or carrier.wanted


def test_fusion_carries_decode_on_hopper_for_its_architectures() -> None:
    assert decode_carrier(launch(), "nvswitch", gpu_of("H200"), fused=True).name == "fused"
    assert decode_carrier(launch(), "nvswitch", gpu_of("A100"), fused=True).name == "custom"


@pytest.mark.parametrize(
    ("version", "env", "name"),
    [
        ("0.5.23", {"SGLANG_OPT_USE_CUSTOM_ALL_REDUCE_V2": "0"}, "nccl"),
        ("0.5.11", {"SGLANG_USE_JIT_ALL_REDUCE": "true"}, "custom"),
    ],
)
def test_a_variable_chooses_the_implementation(version: str, env: dict[str, str], name: str) -> None:
    now = launch(version, tp=5, env=env)
    assert decode_carrier(now, "nvswitch", gpu_of("H200"), fused=False).name == name


def test_odd_ranks_went_through_nccl_until_the_second_implementation() -> None:
    assert decode_carrier(launch("0.5.11", tp=5), "nvswitch", gpu_of("H200"), fused=False).name == "nccl"
    assert decode_carrier(launch("0.5.12", tp=5), "nvswitch", gpu_of("H200"), fused=False).name == "custom"
