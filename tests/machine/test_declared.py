"""A config against the machine, and the block that the machine gives."""

from __future__ import annotations

from typing import Any

import pytest

from eaglecfg.machine.declared import agrees, compare, not_compared, sizes_of
from eaglecfg.machine.findings import Finding
from eaglecfg.machine.hardware import Block, block_of, short_name
from eaglecfg.machine.host import NO_HOST
from eaglecfg.machine.links import Links
from eaglecfg.machine.python import ServingPython
from eaglecfg.machine.survey import Machine
from eaglecfg.record import replace
from eaglecfg.report.doctor import block_lines
from eaglecfg.schema.load import load_config
from eaglecfg.schema.loaded import LoadedConfig
from eaglecfg.source.read import parse_document
from tests.machine.good import GOOD, GPUS, PYTHON

HEAD = """\
version: 1
engine: {name: sglang, version: 0.5.14}
deployments:
  chat:
    target: {checkpoint: t}
"""
BLOCK = "    hardware: {gpu: H200, count: 2, topology: nvswitch, gpu_memory: 141GB, nccl_version: 2.28}\n"


def load(text: str) -> LoadedConfig:
    loaded = load_config(parse_document(HEAD + text, "eaglecfg.yaml", "."))
    assert loaded.problems == ()
    return loaded


def differences(text: str, machine: Machine = GOOD) -> list[Finding]:
    config = load(text)
    return list(compare(machine, config, config.deployments[0]))


def test_the_machine_that_is_declared_has_no_differences() -> None:
    assert differences(BLOCK) == []
    config = load(BLOCK)
    assert list(not_compared(GOOD, config.deployments[0])) == []


@pytest.mark.parametrize(
    ("line", "key", "severity"),
    [
        ("gpu: H100", "gpu", "error"),
        ("count: 8", "count", "error"),
        ("count: 1", "count", "info"),
        ("topology: pcie", "topology", "error"),
        ("gpu_memory: 80GiB", "gpu_memory", "error"),
        ("nccl_version: 2.30.7", "nccl_version", "warning"),
        ("cuda: 12.8", "cuda", "warning"),
        ("torch: 2.12.0", "torch", "warning"),
        ('python: "3.11"', "python", "warning"),
    ],
)
def test_each_difference_is_a_finding_at_its_line(line: str, key: str, severity: str) -> None:
    found = differences(f"    hardware:\n      {line}\n")
    assert [(one.code, one.severity, one.values["key"]) for one in found] == [
        ("hardware-differs", severity, key)
    ]
    assert found[0].message.startswith(f"eaglecfg.yaml:7 declares hardware.{key} ")


def test_defaults_are_pointed_at_where_they_stand() -> None:
    text = HEAD.replace("deployments:", "defaults: {hardware: {count: 4}}\ndeployments:")
    config = load_config(parse_document(text, "e.yaml", "."))
    found = list(compare(GOOD, config, config.deployments[0]))
    assert found[0].message.startswith("e.yaml:3 ")


@pytest.mark.parametrize(
    ("name", "declared", "found", "same"),
    [
        ("gpu", "NVIDIA H200 141GB", "H200", True),
        ("gpu", "h200 sxm", "H200", True),
        ("gpu", "H20", "H200", False),
        ("gpu", "A10", "A100-SXM4-80GB", False),
        ("gpu", "A100", "A100-SXM4-80GB", True),
        ("gpu", "RTX PRO 6000", "RTX PRO 6000 Blackwell Server Edition", True),
        ("gpu", "RTX PRO 4500", "RTX PRO 6000 Blackwell Server Edition", False),
        ("gpu", "Foo 9", "Foo 9 Ti", True),
        ("gpu", "Foo 9", "Bar", False),
        ("gpu_memory", "80GB", "81559MiB", True),
        ("gpu_memory", "80GiB", "81559MiB", True),
        ("gpu_memory", "141GB", "143771MiB", True),
        ("gpu_memory", "96GB", "97887MiB", True),
        ("gpu_memory", "40GB", "81559MiB", False),
        ("gpu_memory", "much", "81559MiB", True),
        ("cuda", "13", "13.0", True),
        ("cuda", "12.8", "13.0", False),
        ("nccl_version", "2.28", "2.28.9", True),
        ("nccl_version", "2.28.9", "2.28.9", True),
        ("nccl_version", "2.2", "2.28.9", False),
        ("torch", "2.11.0+cu130", "2.11.0", True),
        ("python", "3.12", "3.12.3", True),
    ],
)
def test_values_are_compared_by_what_they_mean(name: str, declared: str, found: str, same: bool) -> None:
    assert agrees(name, declared, found, GOOD) is same


def test_the_cuda_of_torch_counts_as_well() -> None:
    machine = replace(GOOD, python=replace(PYTHON, torch_cuda="12.8"))
    assert agrees("cuda", "12.8", "13.0", machine)


def test_sizes_are_read_in_both_ways() -> None:
    assert sizes_of("96GB") == [96 << 30, 96 * 10**9]
    assert sizes_of("96GiB") == [96 << 30]
    assert sizes_of("x") == []


@pytest.mark.parametrize(
    "line",
    [
        "parallel: {tp_size: 4, pp_size: 2, nnodes: 2}",
        "parallel: {tp_size: 2, dp_size: 2}",
        "server: {tensor-parallel-size: 4}",
        "server: {tp: 4, nnode: 1}",
        "parallel: {tp_size: 2}\n    server: {pipe: 2}",
    ],
)
def test_more_ranks_than_gpus_is_an_error(line: str) -> None:
    found = differences(f"    {line}\n")
    assert [one.code for one in found] == ["gpus-too-few"]
    assert "chat needs 4 GPUs on each host, and this one has 2" in found[0].message
    assert differences("    parallel: {tp_size: 2}\n") == []


def test_another_engine_than_the_declared_is_an_error() -> None:
    machine = replace(GOOD, python=replace(PYTHON, sglang="0.5.12"))
    found = differences("", machine)
    assert [one.code for one in found] == ["engine-differs"]
    assert found[0].message == "eaglecfg.yaml:2 says SGLang 0.5.14, and /venv/bin/python has 0.5.12"
    assert "--engine-version 0.5.14,0.5.12" in found[0].help


def test_variables_that_the_shell_and_the_file_set_differently_are_told() -> None:
    machine = replace(GOOD, environment={"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring"})
    found = differences("    nccl: {proto: Simple, algo: Ring}\n    env: {FOO: x}\n", machine)
    assert [one.message for one in found] == [
        "this shell sets NCCL_PROTO=LL, and chat in eaglecfg.yaml sets Simple"
    ]


def test_what_cannot_be_compared_is_not_seen_and_no_difference() -> None:
    blind = Machine(host=NO_HOST, python=ServingPython("x"))
    config = load(BLOCK + "    parallel: {tp_size: 8}\n")
    deployment = config.deployments[0]
    assert list(compare(blind, config, deployment)) == []
    assert [one.what for one in not_compared(blind, deployment)] == [
        "hardware of chat: gpu, count, topology, gpu_memory, nccl_version"
    ]
    assert [one.why for one in not_compared(GOOD, load("").deployments[0])] == [
        "the deployment declares none"
    ]


def pasted(machine: Machine) -> dict[str, Any]:
    """The block as the config's own loader reads it."""
    block = block_of(machine)
    assert block is not None
    text = "".join(f"    {each}\n" for each in block_lines(block))
    hardware = load(text).deployments[0].model.hardware
    assert hardware is not None
    return hardware.model_dump(exclude_none=True)


def test_the_block_is_valid_and_says_what_was_seen() -> None:
    assert pasted(GOOD) == {
        "gpu": "H200",
        "count": 2,
        "topology": "nvswitch",
        "gpu_memory": "143771MiB",
        "nccl_version": "2.28.9",
        "cuda": "13.0",
        "torch": "2.11.0",
        "python": "3.12.3",
    }


def test_the_pasted_block_agrees_with_its_machine() -> None:
    block = block_of(GOOD)
    assert block is not None
    assert differences("".join(f"    {each}\n" for each in block_lines(block))) == []


@pytest.mark.parametrize("name", ["NVIDIA A: b", 'x "y" #z', "GPU\u00e9 \u2122", "- 1", "\\n", "yes", "1e3"])
def test_names_with_signs_of_yaml_stay_names(name: str) -> None:
    machine = replace(GOOD, gpus=tuple(replace(each, name=name) for each in GPUS))
    assert pasted(machine)["gpu"] == short_name(name)


@pytest.mark.parametrize("version", ["3.10", "2.30", "13"])
def test_versions_that_look_like_numbers_stay_texts(version: str) -> None:
    assert pasted(replace(GOOD, python=replace(PYTHON, version=version)))["python"] == version


def test_what_was_not_seen_is_left_out_of_the_block() -> None:
    gpus = tuple(replace(each, name="", memory_total_bytes=None) for each in GPUS)
    bare = replace(GOOD, gpus=gpus, links=Links((), None, ""), python=ServingPython("x"), cuda_driver="")
    assert block_of(bare) == Block(count=2)
    assert pasted(bare) == {"count": 2}


def test_without_a_gpu_or_without_a_visible_one_there_is_no_block() -> None:
    assert block_of(replace(GOOD, gpus=())) is None
    assert block_of(replace(GOOD, gpus=tuple(replace(each, visible=False) for each in GPUS))) is None


def test_the_block_counts_the_gpus_that_a_server_would_get() -> None:
    machine = replace(GOOD, gpus=(GPUS[0], replace(GPUS[1], visible=False)), links=Links((), "single", ""))
    assert (pasted(machine)["count"], pasted(machine)["topology"]) == (1, "single")


def test_the_smallest_of_different_gpus_sets_the_memory() -> None:
    machine = replace(GOOD, gpus=(GPUS[0], replace(GPUS[1], memory_total_bytes=80 << 30)))
    assert pasted(machine)["gpu_memory"] == "81920MiB"
