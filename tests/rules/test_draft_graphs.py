"""The draft's CUDA graphs, over versions, attention backends and numbers of captured states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eaglecfg.rules.outcome import Report
from tests.rules.pairs import check, mla

LISTS = {2: [2, 8], 3: [2, 5, 8], 4: [2, 4, 6, 8], 5: [1, 3, 5, 7, 9]}
COUNTED_IN_TARGET = ("0.5.12", "0.5.12.post1", "0.5.13", "0.5.13.post1", "0.5.14")
COUNTED_IN_DRAFT = ("0.5.15", "0.5.15.post1", "0.5.16", "0.5.17", "0.5.18", "0.5.19", "0.5.20", "0.5.23")
IDS = "eagle_aux_hidden_state_layer_ids"
TOP_FOUR = {"eagle_config": None, IDS: [1, 3, 5, 8]}


def pair(
    folder: Path, version: str, states: int = 4, *, server: dict[str, Any] | None = None, **deployment: Any
) -> Report:
    """A draft of so many states, on whatever it captures."""
    draft = {
        "config": {"eagle_config": {IDS: LISTS[states]}},
        "tensors": {"fc.weight": ["BF16", [256, 256 * states]]},
    }
    trained = {"trained_boundaries": [one + 1 for one in LISTS[states]]}
    deployment = {"capture": trained, "server": server or {}, **deployment}
    return check(folder, engine=version, deployment=deployment, draft=draft)


def ids_of(report: Report) -> list[str]:
    assert not report.crashes
    return [each.rule.id for each in report.findings]


def undecided(report: Report) -> list[str]:
    return [each.reason for each in report.not_checked if each.rule.id == "EC904"]


@pytest.mark.parametrize("states", [2, 4, 5])
@pytest.mark.parametrize("version", COUNTED_IN_TARGET)
def test_other_than_three_states_crash_where_the_graph_is_recorded(
    version: str, states: int, tmp_path: Path
) -> None:
    report = pair(tmp_path, version, states, server={"attention_backend": "triton"})
    told = next(each.finding for each in report.findings if each.rule.id == "EC904")
    assert told.values["graph_width"] == 3 * 256
    assert told.values["fc_width"] == states * 256
    assert "run sglang 0.5.15 or later" in told.help


@pytest.mark.parametrize("version", [*COUNTED_IN_TARGET, *COUNTED_IN_DRAFT])
def test_three_states_are_right_everywhere(version: str, tmp_path: Path) -> None:
    assert "EC904" not in ids_of(pair(tmp_path, version, 3, server={"attention_backend": "triton"}))


@pytest.mark.parametrize("version", COUNTED_IN_DRAFT)
def test_the_draft_s_own_count_is_right_for_any_number(version: str, tmp_path: Path) -> None:
    assert "EC904" not in ids_of(pair(tmp_path, version, 5, server={"attention_backend": "triton"}))


@pytest.mark.parametrize(
    ("version", "backend", "crash"),
    [
        ("0.5.12", "fa3", False),
        ("0.5.12", "flashinfer", False),
        ("0.5.12", "trtllm_mha", False),
        ("0.5.13", "fa3", False),
        ("0.5.13", "flashinfer", False),
        ("0.5.13", "trtllm_mha", True),
        ("0.5.14", "fa3", False),
        ("0.5.14", "flashinfer", True),
        ("0.5.14", "trtllm_mha", True),
    ],
)
def test_each_version_records_the_graph_with_other_backends(
    version: str, backend: str, crash: bool, tmp_path: Path
) -> None:
    hardware = {"gpu": "B200" if backend == "trtllm_mha" else "H200", "count": 1}
    report = pair(tmp_path, version, server={"attention_backend": backend}, hardware=hardware)
    assert ("EC904" in ids_of(report)) is crash
    assert undecided(report) == []


@pytest.mark.parametrize(
    "change",
    [
        {"server": {"disable_overlap_schedule": True}},
        {"env": {"SGLANG_ENABLE_SPEC_V2": "0"}},
        {"speculative": {"eagle_topk": 2, "num_draft_tokens": 4}},
    ],
)
def test_the_older_worker_of_0_5_12_records_it_with_any_backend(
    change: dict[str, Any], tmp_path: Path
) -> None:
    server = {"attention_backend": "fa3", **change.pop("server", {})}
    assert "EC904" in ids_of(pair(tmp_path, "0.5.12", server=server, **change))


@pytest.mark.parametrize("text", ["1", "off", ""])
def test_a_text_that_0_5_12_cannot_read_leaves_it_the_newer_worker(text: str, tmp_path: Path) -> None:
    server, env = {"attention_backend": "fa3"}, {"SGLANG_ENABLE_SPEC_V2": text}
    assert "EC904" not in ids_of(pair(tmp_path, "0.5.12", server=server, env=env))


@pytest.mark.parametrize(
    ("gpu", "version", "crash"),
    [
        ("H200", "0.5.13", False), ("H200", "0.5.14", False), ("B200", "0.5.13", True),
        ("B200", "0.5.14", True), ("A100", "0.5.13", False), ("A100", "0.5.14", True),
        ("L40S", "0.5.14", True),
    ],
)  # fmt: skip
def test_the_backend_that_the_engine_picks_counts_too(
    gpu: str, version: str, crash: bool, tmp_path: Path
) -> None:
    report = pair(tmp_path, version, hardware={"gpu": gpu, "count": 1})
    assert ("EC904" in ids_of(report)) is crash


def test_without_backend_and_gpu_it_says_what_is_missing(tmp_path: Path) -> None:
    (reason,) = undecided(pair(tmp_path, "0.5.14"))
    assert "hardware.gpu" in reason
    assert "triton, trtllm_mha or flashinfer" in reason


@pytest.mark.parametrize(
    ("server", "crash"),
    [
        ({"attention_backend": "triton", "speculative_draft_attention_backend": "fa3"}, False),
        ({"attention_backend": "fa3", "speculative_draft_attention_backend": "triton"}, True),
        ({"attention_backend": "fa3", "prefill_attention_backend": "triton"}, True),
        ({"attention_backend": "triton", "prefill_attention_backend": "fa3"}, False),
        (
            {
                "attention_backend": "triton",
                "prefill_attention_backend": "fa3",
                "speculative_attention_mode": "decode",
            },
            True,
        ),
        ({"attention_backend": "triton", "disable_cuda_graph": True}, False),
        ({"attention_backend": "triton", "disable_decode_cuda_graph": True}, False),
        ({"attention_backend": "triton", "cuda_graph_backend_decode": "disabled"}, False),
        ({"attention_backend": "triton", "cuda_graph_config": '{"decode": {"backend": "disabled"}}'}, False),
        (
            {
                "attention_backend": "triton",
                "disable_cuda_graph": True,
                "cuda_graph_backend_decode": "full",
            },
            True,
        ),
    ],
)
def test_the_flag_nearest_to_the_step_decides(server: dict[str, Any], crash: bool, tmp_path: Path) -> None:
    assert ("EC904" in ids_of(pair(tmp_path, "0.5.14", server=server))) is crash


@pytest.mark.parametrize(("backend", "crash"), [("triton", True), ("fa3", False), ("flashinfer", False)])
def test_a_draft_with_latent_attention_is_recorded_with_other_kernels(
    backend: str, crash: bool, tmp_path: Path
) -> None:
    draft = mla({"eagle_config": {IDS: LISTS[4]}}, {"fc.weight": ["BF16", [256, 1024]]})
    deployment = {
        "capture": {"trained_boundaries": [3, 5, 7, 9]},
        "server": {"attention_backend": backend},
    }
    report = check(tmp_path, engine="0.5.14", deployment=deployment, draft=draft)
    assert ("EC904" in ids_of(report)) is crash


@pytest.mark.parametrize("version", COUNTED_IN_DRAFT)
def test_a_list_at_the_top_of_another_length_stops_the_server(version: str, tmp_path: Path) -> None:
    deployment = {"capture": {"trained_boundaries": [2, 6, 9]}}
    report = check(tmp_path, engine=version, deployment=deployment, draft={"config": TOP_FOUR})
    (told,) = [each for each in report.findings if each.rule.id in ("EC203", "EC904")]
    assert told.severity.value == "error"
    assert told.finding.today is not None
    assert told.finding.today.value == "crash at start"
    assert "4 states of the list" in told.finding.message
    assert "which happens to be" not in told.finding.message


@pytest.mark.parametrize("version", COUNTED_IN_TARGET)
def test_before_0_5_15_nothing_counts_the_list(version: str, tmp_path: Path) -> None:
    deployment = {"capture": {"trained_boundaries": [2, 6, 9]}, "server": {"attention_backend": "triton"}}
    report = check(tmp_path, engine=version, deployment=deployment, draft={"config": TOP_FOUR})
    (told,) = [each for each in report.findings if each.rule.id in ("EC203", "EC904")]
    assert told.severity.value == "info"
    assert "by its length" not in told.finding.why


@pytest.mark.parametrize(
    ("server", "crash"),
    [
        ({"attention_backend": "fa3", "disable_prefill_cuda_graph": True}, False),
        ({"attention_backend": "triton", "disable_prefill_cuda_graph": True}, True),
        ({"attention_backend": "fa3", "cuda_graph_backend_prefill": "breakable"}, True),
        ({"attention_backend": "fa3", "disable_decode_cuda_graph": True}, True),
        ({"attention_backend": "triton", "disable_cuda_graph": True}, False),
    ],
)
def test_prefill_of_the_draft_is_recorded_too_from_0_5_15(
    server: dict[str, Any], crash: bool, tmp_path: Path
) -> None:
    deployment = {"capture": {"trained_boundaries": [2, 6, 9]}, "server": server}
    report = check(tmp_path, engine="0.5.16", deployment=deployment, draft={"config": TOP_FOUR})
    (told,) = [each for each in report.findings if each.rule.id == "EC203"]
    assert (told.severity.value == "error") is crash


def test_a_switch_of_the_environment_spares_the_step(tmp_path: Path) -> None:
    deployment: dict[str, Any] = {
        "capture": {"trained_boundaries": [2, 6, 9]},
        "server": {"attention_backend": "triton", "disable_prefill_cuda_graph": True},
        "env": {"SGLANG_DISABLE_DRAFT_EXTEND_CUDA_GRAPH": "1"},
    }
    report = check(tmp_path, engine="0.5.16", deployment=deployment, draft={"config": TOP_FOUR})
    assert [each.severity.value for each in report.findings if each.rule.id == "EC203"] == ["info"]


@pytest.mark.parametrize("version", ["0.5.12", "0.5.14", "0.5.23"])
def test_a_draft_with_latent_attention_builds_fc_by_the_list(version: str, tmp_path: Path) -> None:
    draft = mla(TOP_FOUR, {"fc.weight": ["BF16", [256, 1024]]})
    deployment = {"capture": {"trained_boundaries": [2, 6, 9]}, "server": {"disable_cuda_graph": True}}
    report = check(tmp_path, engine=version, deployment=deployment, draft=draft)
    told = next(each for each in report.findings if each.rule.id == "EC203")
    assert "builds fc for the 4 states of the list" in told.finding.message
    assert told.severity.value == "error"


@pytest.mark.parametrize("version", ["0.5.9", "0.5.11"])
def test_a_version_that_ignores_the_count_key_is_not_accused(version: str, tmp_path: Path) -> None:
    report = check(tmp_path, engine=version, draft={"config": {"num_aux_hidden_states": 4}})
    assert "EC213" not in ids_of(report)
