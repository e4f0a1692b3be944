"""The facts are complete, consistent and sourced."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from eaglecfg.nccl.facts import (
    library_strings,
    nccl_of_torch,
    related,
    variable_fact,
    variable_names,
)
from eaglecfg.nccl.gpus import gpu_of
from eaglecfg.nccl.parse import parse
from eaglecfg.nccl.version import at_least, before, release
from eaglecfg.schema_files import read_schema

KINDS = {
    "int",
    "list",
    "level",
    "word",
    "subsystems",
    "thresholds",
    "policy",
    "kernel",
    "net",
    "netdevs",
    "path",
    "target",
    "plugin",
    "text",
    "interfaces",
    "devices",
    "any",
}
ACTS = {
    "collective",
    "transport",
    "gather",
    "send",
    "network",
    "nvls",
    "symmetric",
    "memory",
    "graph",
    "topology",
    "start",
    "process",
    "debug",
    "other",
}
OUTSIDE = {"clamped", "exact", "nonzero", "as_one", "ignored", "default", "unchecked", "infinite"}
VERSION = re.compile(r"[0-9]+\.[0-9]+(\.[0-9]+)?")


@pytest.mark.parametrize("name", variable_names())
def test_a_fact_is_well_formed(name: str) -> None:
    fact = variable_fact(name)
    assert fact is not None
    assert re.fullmatch(r"NCCL_[A-Z0-9_]+", name)
    assert fact.kind in KINDS
    assert fact.acts in ACTS
    assert fact.about.endswith(".")
    assert fact.source
    for key in ("since", "until", "absent_in", "gone_in", "seen_in"):
        assert fact.get(key) is None or VERSION.fullmatch(fact.get(key))
    if fact.get("values") or fact.get("range"):
        assert fact.get("outside") in OUTSIDE
    if fact.get("range"):
        low, high = fact.get("range")
        assert high is None or low < high
    if fact.get("since") and fact.get("until"):
        assert at_least(fact.get("until"), fact.get("since"))
    if fact.get("outside") == "default":
        assert fact.get("outside_is")


@pytest.mark.parametrize("name", variable_names())
def test_a_numeric_default_is_taken_without_a_complaint(name: str) -> None:
    fact = variable_fact(name)
    assert fact is not None
    default = str(fact.get("default", ""))
    if fact.kind == "int" and re.fullmatch(r"-?[0-9]+", default):
        assert not parse(name, default, "2.30.7").problems


def test_standing_follows_the_versions() -> None:
    def standing(name: str) -> list[str]:
        fact = variable_fact(f"NCCL_{name}")
        assert fact is not None
        return [fact.standing(version) for version in ("2.23.4", "2.28.9", "2.29.7", "2.30.7", "2.32.3")]

    assert standing("ALGO") == ["there"] * 5
    assert standing("SHM_USE_CUDA_MEMCPY") == ["there", "there", "there", "gone", "gone"]
    assert standing("GRAPH_STREAM_ORDERING") == ["not yet", "not yet", "not yet", "there", "there"]
    assert standing("SYM_NOWIN_ENABLE") == ["not yet", "not yet", "there", "there", "there"]
    assert standing("LL_THRESHOLD")[1:] == ["gone"] * 4
    assert standing("IB_OOO_RQ") == ["not yet", "not yet", "not yet", "there", "there"]
    assert standing("GIN_EXCLUSIVE_CONTEXTS") == ["not yet", "not yet", "there", "gone", "gone"]
    # Seen in one library, absent from an earlier one, and nothing known about those between.
    between = variable_fact("NCCL_IB_OOO_RQ")
    assert between is not None
    assert between.standing("2.30.3") == "open"


def test_every_library_that_was_read_agrees_with_the_facts() -> None:
    table = read_schema("nccl", "variables.json")["variables"]
    for version in ("2.26.2", "2.27.5", "2.28.9", "2.29.7", "2.30.7"):
        for name, row in table.items():
            fact = variable_fact(name)
            assert fact is not None
            seen = version in row.get("seen_in_library", ())
            assert (fact.standing(version) == "there") == seen, (name, version)


def test_neighbours_are_not_nccls_own() -> None:
    table, known = related(), set(variable_names())
    assert not known & set(table["torch_old"])
    assert not known & set(table["renamed"])
    assert not known & library_strings()
    assert set(table["renamed"].values()) <= known
    assert set(table["torch_old"].values()) <= set(table["torch"])
    assert set(table["torch_reads_old"]) <= set(table["torch_old"])
    assert not [
        name
        for name in known
        for start in table["plugins"]
        if name.startswith(start) and name != "NCCL_TUNER_PLUGIN"
    ]


def test_every_pinned_torch_has_its_nccl() -> None:
    pins = read_schema("engines", "sglang", "values.json")["values"]["pins"]
    for row in pins:
        assert nccl_of_torch(row["value"]["torch"]), row["since"]
    assert nccl_of_torch("2.14.1+cu130") == "2.30.7"
    assert nccl_of_torch("1.13.0") is None


def test_communication_flags_are_flags_of_some_version() -> None:
    flags = read_schema("engines", "sglang", "flags.json")["flags"]
    assert set(read_schema("nccl", "sglang.json")["flags"]) <= set(flags)


def test_rows_about_the_engine_are_in_order_and_sourced() -> None:
    table = read_schema("nccl", "sglang.json")
    known = read_schema("engines", "sglang", "versions.json")["versions"]
    rows = [row for rows in table["writes"].values() for row in rows]
    rows += table["variables"].values()
    for row in [*rows, *table["custom_all_reduce"], *table["torch_symm_mem"], *table["pcie_ipc"]]:
        assert row["since"] in known
        assert row.get("until", row["since"]) in known
        assert row["read_in"] in known
        assert re.fullmatch(r"srt/[\w/]+\.py:[0-9]+", row["source"])
    for earlier, later in pairwise(table["custom_all_reduce"]):
        assert before(earlier["until"], later["since"])


@pytest.mark.parametrize(
    ("name", "capability"),
    [
        ("H200", 9.0),
        ("NVIDIA H100 80GB HBM3", 9.0),
        ("NVIDIA A100-SXM4-80GB", 8.0),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", 12.0),
        ("RTX 6000 Ada Generation", 8.9),
        ("NVIDIA RTX A6000", 8.6),
        ("L40S", 8.9),
        ("NVIDIA GeForce RTX 4090", 8.9),
        ("GB200", 10.0),
        ("Tesla V100-SXM2-32GB", 7.0),
    ],
)
def test_gpus_by_name(name: str, capability: float) -> None:
    gpu = gpu_of(name)
    assert gpu is not None
    assert gpu.capability == capability


def test_an_unknown_gpu_is_not_guessed() -> None:
    assert gpu_of("Gaudi 3") is None
    assert gpu_of(None) is None


def test_versions_are_compared_as_numbers() -> None:
    assert at_least("2.31", "2.31.0")
    assert at_least("2.30.7", "2.4")
    assert before("0.5.10", "0.5.10.post1")
    assert release("2.30.7+cuda13.0") == (2, 30, 7)
    assert release("nonsense") == ()
