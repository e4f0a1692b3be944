"""What each engine version makes of NCCL's environment, and which all-reduce its decode runs."""

from __future__ import annotations

from typing import Any

import pytest

from eaglecfg.nccl.engine_writes import Launch, effective


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
