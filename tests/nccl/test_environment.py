"""Names and values of an environment, the GPUs that it shows, and what is declared about NCCL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eaglecfg.engines.numerals import engine_switch
from eaglecfg.nccl.devices import visible
from eaglecfg.nccl.engine_writes import engine_variables
from eaglecfg.nccl.facts import related
from eaglecfg.nccl.version import coded_version, declared_version
from eaglecfg.rules.nccl.ec646_topology_contradicted import SWITCHED
from eaglecfg.rules.outcome import Report
from eaglecfg.schema_files import read_schema
from tests.nccl.test_rules import OFF, PCIE, SWITCH, loud, report

EIGHT = {**SWITCH, "count": 8}


def message(found: Report, rule: str) -> str:
    (one,) = [one.finding for one in found.findings if one.rule.id == rule]
    return f"{one.message}; {one.why}; {one.help}"


@pytest.mark.parametrize(
    ("text", "count", "entries", "why"),
    [
        ("0,1,2,3", 8, ("0", "1", "2", "3"), ""),
        (" 4, 5", 8, ("4", "5"), ""),
        ("GPU-1f,GPU-2e", 8, ("GPU-1f", "GPU-2e"), ""),
        ("MIG-1f", None, ("MIG-1f",), ""),
        ("7", None, ("7",), ""),
        ("", 8, (), "empty"),
        ("-1", 8, (), "-1 ends"),
        ("0,1,-1,2", 8, ("0", "1"), "-1 ends"),
        ("0,0,1,2", 8, (), "0 is listed twice"),
        ("GPU-1f,GPU-1f", 8, (), "GPU-1f is listed twice"),
        ("0,1,2,9", 8, ("0", "1", "2"), "no GPU 9 among 8"),
        ("0,1,2,9", None, ("0", "1", "2", "9"), ""),
        ("none", 8, (), "'none' is no number"),
        ("0,,1", 8, ("0",), "empty entry"),
        ("0 1 2 3", 8, ("0",), "read as 0"),
        ("0;1;2;3", 8, ("0",), "read as 0"),
        ("0,GPU-1f", 8, ("0",), "'GPU-1f' is no number"),
        ("GPU-1f,0", 8, ("GPU-1f",), "does not begin with GPU-"),
    ],
)
def test_the_gpus_that_a_list_shows(text: str, count: int | None, entries: tuple[str, ...], why: str) -> None:
    found = visible(text, count)
    assert found.entries == entries
    assert (why in found.why) if why else not found.why


@pytest.mark.parametrize(
    "text", ["0,1", "0", "", "-1", "0,0,1,2", "0,1,2,9", "none", "0 1 2 3", "0;1;2;3", "0,1,2,-1"]
)
def test_ranks_without_a_gpu_are_one_error(text: str, tmp_path: Path) -> None:
    found = report(tmp_path, {"CUDA_VISIBLE_DEVICES": text}, EIGHT)
    assert loud(found) == ["EC641"]
    assert "need 4" in message(found, "EC641")


def test_enough_gpus_are_quiet(tmp_path: Path) -> None:
    for index, text in enumerate(("0,1,2,3", "4,5,6,7", "0,1,2,3,4,5,6,7", "7,3,1,0")):
        assert not loud(report(tmp_path / str(index), {"CUDA_VISIBLE_DEVICES": text}, EIGHT))
    other = report(tmp_path / "cpu", {"CUDA_VISIBLE_DEVICES": ""}, EIGHT, server={"device": "cpu"})
    assert "EC641" not in loud(other)


def test_replicas_stages_and_the_first_gpu_count_too(tmp_path: Path) -> None:
    env = {"CUDA_VISIBLE_DEVICES": "0,1,2,3"}
    for index, more in enumerate(
        (
            {"parallel": {"dp_size": 2}},
            {"parallel": {"pp_size": 2}},
            {"server": {"base_gpu_id": 1}},
            {"server": {"gpu_id_step": 2}},
        )
    ):
        assert "EC641" in loud(report(tmp_path / str(index), env, EIGHT, **more)), more
    attention = {"parallel": {"dp_size": 2, "enable_dp_attention": True}}
    assert "EC641" not in loud(report(tmp_path / "attention", env, EIGHT, **attention))
    hosts = {"parallel": {"tp_size": 8, "nnodes": 2}}
    assert "EC641" not in loud(report(tmp_path / "hosts", env, EIGHT, **hosts))


@pytest.mark.parametrize(
    ("text", "version", "meant"),
    [
        ("2.28.9", "2.28.9", None),
        ("2.28", "2.28", None),
        ("v2.28.9-1", "2.28.9", None),
        ("2.28.9+cuda12.9", "2.28.9", None),
        ("22809", None, "2.28.9"),
        ("21903", None, "2.19.3"),
        ("2708", None, "2.7.8"),
        ("banana", None, None),
        ("true", None, None),
        ("", None, None),
        ("9.9.9", None, None),
        ("-2.28.9", None, None),
        ("2", None, None),
        ("12.8", None, None),
    ],
)
def test_a_declared_version_is_one_or_is_told(
    text: str, version: str | None, meant: str | None, tmp_path: Path
) -> None:
    assert (declared_version(text), coded_version(text)) == (version, meant)
    found = report(tmp_path, {}, {**PCIE, "nccl_version": text})
    assert ("EC642" in loud(found)) is (version is None)
    if meant:
        assert meant in message(found, "EC642")


def test_versions_beyond_the_facts_and_torches_that_are_not_known(tmp_path: Path) -> None:
    later = report(tmp_path / "a", {"NCCL_PROTO": "LL"}, {**PCIE, "nccl_version": "2.99.0"})
    assert "2.32.3" in message(later, "EC642")
    bare = {key: value for key, value in PCIE.items() if key != "nccl_version"}
    torch = report(tmp_path / "b", {"NCCL_PROTO": "LL"}, {**bare, "torch": "banana"})
    assert "banana" in {s.rule.id: s.reason for s in torch.not_checked}["EC642"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("nccl_proto", "NCCL_PROTO"),
        ("ncclproto", "NCCL_PROTO"),
        ("Nccl_Debug", "NCCL_DEBUG"),
        ("NCCLPROTO", "NCCL_PROTO"),
        ("NCCL PROTO", "NCCL_PROTO"),
        ("NCCL-PROTO", "NCCL_PROTO"),
        (" NCCL_PROTO", "NCCL_PROTO"),
        ("cuda_visible_devices", "CUDA_VISIBLE_DEVICES"),
        ("sglang_log_gc", "SGLANG_LOG_GC"),
        ("A=B", None),
        ("1X", None),
        ("", None),
        ("ÄÖ", None),
    ],
)
def test_names_that_cannot_act(name: str, meant: str | None, tmp_path: Path) -> None:
    found = report(tmp_path, {name: "1"})
    assert loud(found) == ["EC643"]
    (one,) = [one.finding for one in found.findings if one.rule.id == "EC643"]
    assert one.values["meant"] == meant
    assert (one.fix.text if one.fix is not None else None) == meant


def test_names_of_others_are_left_alone(tmp_path: Path) -> None:
    env = {"http_proxy": "x", "no_proxy": "x", "_": "x", "Path": "x", "my_cuda_home": "x", "cuda_home": "x"}
    assert not loud(report(tmp_path, {**env, "OMP_NUM_THREADS": "8", "VLLM_X": "1", "NCCLX": "1"}))


@pytest.mark.parametrize(
    ("name", "rule", "near"),
    [
        ("SGLANG_CUSTOM_ALL_REDUCE_V2_MAX_SIZE", "EC644", "SGLANG_CUSTOM_ALL_REDUCE_V2_MAX_SIZE_KB"),
        ("SGLANG_ENABLE_PCIE_IPC_ALL_REDUCE", "EC644", "SGLANG_ENABLE_PCIE_IPC_ALLREDUCE"),
        ("SGLANG_USE_JIT_ALLREDUCE", "EC644", None),
        ("SGLANG_USE_JIT_ALL_REDUCE", "EC636", None),
    ],
)
def test_names_that_the_engine_does_not_read(name: str, rule: str, near: str | None, tmp_path: Path) -> None:
    found = report(tmp_path, {name: "1"})
    if near is not None:
        assert near in message(found, rule)
    assert {one.rule.id for one in found.findings} & {"EC644", "EC636"} == {rule}


def test_every_name_of_the_engines_is_known_in_its_own_version(tmp_path: Path) -> None:
    table = read_schema("engines", "sglang", "environment.json")["variables"]
    now = {name: "1" for name, row in table.items() if "until" not in row}
    found = report(tmp_path, now)
    assert not [one for one in found.findings if one.rule.id == "EC644"]
    assert set(engine_variables("sglang")) <= set(table)


def test_environment_rows_are_in_order() -> None:
    known = read_schema("engines", "sglang", "versions.json")["versions"]
    for row in read_schema("engines", "sglang", "environment.json")["variables"].values():
        assert set(row) <= {"since", "until"}
        since, until = row.get("since", known[0]), row.get("until", known[-1])
        assert known.index(since) <= known.index(until)


@pytest.mark.parametrize(
    ("name", "text", "severity"),
    [
        ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "banana", "error"),
        ("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", "abc", "error"),
        ("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", "", "error"),
        ("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", "99999999999", "error"),
        ("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", "600s", "warning"),
        ("TORCH_NCCL_ENABLE_MONITORING", "on", "error"),
        ("TORCH_NCCL_ENABLE_MONITORING", "2", "error"),
        ("SGLANG_OPT_USE_CUSTOM_ALL_REDUCE_V2", "maybe", "warning"),
        ("SGLANG_CUSTOM_ALL_REDUCE_V2_MAX_SIZE_KB", "1MB", "warning"),
        ("SGLANG_ENABLE_PCIE_IPC_ALLREDUCE", "on", "warning"),
        ("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", " 600", None),
        ("TORCH_NCCL_ENABLE_MONITORING", "YES", None),
        ("TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "/tmp/x", None),
        ("SGLANG_OPT_USE_CUSTOM_ALL_REDUCE_V2", "No", None),
        ("SGLANG_CUSTOM_ALL_REDUCE_V2_MAX_SIZE_KB", "1024", None),
    ],
)
def test_values_that_torch_or_the_engine_cannot_read(
    name: str, text: str, severity: str | None, tmp_path: Path
) -> None:
    found = report(tmp_path, {name: text})
    severities = [one.severity.value for one in found.findings if one.rule.id == "EC645"]
    assert severities == ([severity] if severity else [])


def test_kinds_are_known() -> None:
    rows = [*related()["torch"].values(), *engine_variables("sglang").values()]
    assert {row.get("kind") for row in rows} == {"bool", "int", None}
    assert [engine_switch(text) for text in ("Yes", "0", "on", "")] == [True, False, None, None]


@pytest.mark.parametrize(
    ("gpu", "topology", "tensor", "wrong"),
    [
        ("H200", "single", 4, True),
        ("H200", "single", 1, False),
        ("L40S", "nvswitch", 4, True),
        ("L40S", "nvlink-pair", 2, True),
        ("L40S", "pcie", 4, False),
        ("RTX PRO 6000", "nvswitch", 4, True),
        ("RTX A6000", "nvswitch", 4, True),
        ("RTX A6000", "nvlink-pair", 2, False),
        ("RTX 3090", "nvlink-pair", 2, False),
        ("A100", "nvswitch", 4, False),
        ("A100", "nvlink-pair", 2, False),
        ("H100 NVL", "nvlink-pair", 2, False),
        ("B200", "nvswitch", 4, False),
        ("H20", "nvswitch", 4, False),
        ("GTX 9999", "nvswitch", 4, False),
    ],
)
def test_links_that_cannot_be(gpu: str, topology: str, tensor: int, wrong: bool, tmp_path: Path) -> None:
    hardware = {"gpu": gpu, "count": 4, "topology": topology, "nccl_version": "2.30.7"}
    found = report(tmp_path, {"NCCL_PROTO": "LL,LL128"}, hardware, parallel={"tp_size": tensor})
    assert ("EC646" in loud(found)) is wrong
    if wrong:
        assert not {"EC613", "EC614", "EC629"} & {one.rule.id for one in found.findings}


def test_gpus_that_are_passed_over_may_be_joined_in_any_way() -> None:
    table = read_schema("nccl", "gpus.json")["gpus"]
    passed = [row for name, row in table.items() if any(part in name for part in SWITCHED)]
    assert len(passed) > len(SWITCHED) - 1
    assert all(row.get("nvlink", "any") == "any" for row in passed)


@pytest.mark.parametrize(
    ("env", "entries", "said"),
    [
        ({"NCCL_SITE_PATCH": "1"}, ["site_patch"], []),
        ({"NCCL_SITE_PATCH": "1"}, ["NCCL_SITE_PATHC"], ["NCCL_SITE_PATHC is set nowhere"]),
        ({}, ["FOO", ""], ["NCCL_FOO is set nowhere", "an entry is empty"]),
        ({"NCCL_PROTO": "LL,Simple"}, ["NCCL_PROTO"], ["NCCL_PROTO is known"]),
    ],
)
def test_entries_that_keep_nothing_from_being_checked(
    env: dict[str, str], entries: list[str], said: list[str], tmp_path: Path
) -> None:
    found = report(tmp_path, env, unchecked_variables=entries)
    texts = [one.finding.message for one in found.findings if one.rule.id == "EC647"]
    assert len(texts) == len(said)
    assert all(part in text for part, text in zip(said, texts, strict=True))


@pytest.mark.parametrize(
    ("env", "severity"),
    [
        ({"NCCL_IB_HCA": "${HCA}"}, "error"),
        ({"NCCL_PROTO": "$PROTO"}, "error"),
        ({"NCCL_BUFFSIZE": "${SIZE}"}, "error"),
        ({"LD_LIBRARY_PATH": "${LD_LIBRARY_PATH}:/opt/nccl"}, "warning"),
        ({"HF_HOME": "$HOME/models"}, "warning"),
        ({"NCCL_IB_HCA": "${NCCL_IB_HCA}"}, None),
        ({"SALT": "a$b", "PRICE": "5$", "REGEX": "^mlx5_[0-9]+$"}, None),
        ({"A": "${B:-x}"}, "error"),
        ({"A": "${B-}"}, "error"),
        ({"A": "${A:-x}"}, "error"),
        ({"A": "$(hostname)"}, "error"),
        ({"A": "`hostname`"}, "error"),
        ({"A": "TODO"}, "error"),
        ({"A": "<your-token>"}, "error"),
        ({"A": "{{ .Values.a }}"}, "error"),
        ({"A": "tcp://$(hostname):1"}, "warning"),
        ({"A": "/x/${B:-y}"}, "warning"),
        ({"HF_HOME": "~/hf", "BOS": "<s>", "HF_TOKEN": "x$ABC"}, None),
    ],
)
def test_references_reach_the_server_as_letters(
    env: dict[str, Any], severity: str | None, tmp_path: Path
) -> None:
    found = report(tmp_path, env, server=OFF)
    severities = [one.severity.value for one in found.findings if one.rule.id == "EC640"]
    assert severities == ([severity] if severity else [])
    assert set(loud(found)) <= {"EC640"}


@pytest.mark.parametrize(
    ("server", "severity"),
    [
        ({"host": "$(hostname)"}, "error"),
        ({"host": "`hostname`"}, "error"),
        ({"served_model_name": "$NAME"}, "error"),
        ({"served-model-name": "${NAME:-x}"}, "error"),
        ({"served_model_name": "{{ .Values.name }}"}, "error"),
        ({"host": "<your-host>"}, "error"),
        ({"chat_template": "TODO"}, "error"),
        ({"chat_template": "~/t.jinja"}, "warning"),
        ({"dist_init_addr": "${A:-b}:50"}, "warning"),
        ({"lora_paths": ["a=/a", "b=$HOME/b"]}, "warning"),
        ({"made_up": {"a": [{"b": "$(x)"}]}}, "error"),
        ({"host": "${SGLANG_HOST}", "lora_paths": ["a=/a", "${SGLANG_LORA_PATHS_2}"]}, None),
        ({"api_key": "pa$WORD", "served_model_name": "<think> 5$ ^a$ {x}"}, None),
    ],
)
def test_flags_of_the_server_expand_nothing_either(
    server: dict[str, Any], severity: str | None, tmp_path: Path
) -> None:
    found = report(tmp_path, {}, server={**OFF, **server})
    severities = [one.severity.value for one in found.findings if one.rule.id == "EC640"]
    assert severities == ([severity] if severity else [])
