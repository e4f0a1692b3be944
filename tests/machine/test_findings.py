"""Each fault of a machine is found, with what to do, and a good machine has none."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import eaglecfg.machine
from eaglecfg.machine.diagnosis import diagnose
from eaglecfg.machine.environment import ConfFile, Setting
from eaglecfg.machine.findings import SEVERITIES, Finding, reaches, worst_first
from eaglecfg.machine.gpus import Gpu, Holder
from eaglecfg.machine.host import Limit, SharedMemory
from eaglecfg.machine.links import Links, Pair
from eaglecfg.machine.python import Library
from eaglecfg.machine.servers import Ports, Server, Taken
from eaglecfg.machine.survey import EngineStanding, Machine
from eaglecfg.record import replace
from tests.machine.good import GIB, GOOD, GPUS, HOST, PYTHON

MIB = 1 << 20


def gpu(**changes: Any) -> Machine:
    return replace(GOOD, gpus=(replace(GPUS[0], **changes), GPUS[1]))


def host(**changes: Any) -> Machine:
    return replace(GOOD, host=replace(HOST, **changes))


def python(**changes: Any) -> Machine:
    return replace(GOOD, python=replace(PYTHON, **changes))


def env(**variables: str) -> Machine:
    return replace(GOOD, environment=variables)


def conf(
    *settings: Setting, state: Any = "read", odd: tuple[tuple[int, str], ...] = (), **env: str
) -> Machine:
    return replace(GOOD, conf_files=(ConfFile("/etc/nccl.conf", state, settings, odd),), environment=env)


def pcie(p2p: str = "ok", name: str = "NVIDIA L40S", **changes: Any) -> Machine:
    gpus = tuple(replace(each, name=name) for each in GPUS)
    links = Links((Pair(0, 1, False, 0, False, p2p, "PHB"),), "pcie", "")
    return replace(GOOD, gpus=gpus, links=links, host=replace(HOST, **changes))


def server(**changes: Any) -> Machine:
    given = Server(77, "ann", 1700000000.0, (77, 78), "python -m sglang.launch_server", 90 * GIB, "", False)
    return replace(GOOD, servers=(replace(given, **changes),))


def library(version: str, why: str, error: str = "") -> Library:
    return Library("/other/libnccl.so.2", why, version, error)


CASES: list[tuple[str, str, Machine, str]] = [
    (
        "gpu-not-empty",
        "warning",
        gpu(memory_used_bytes=9 * GIB),
        "GPU 0 is not empty: 9.0 GiB used by nobody",
    ),
    ("gpu-not-empty", "warning", gpu(processes=(Holder(5, None, "python3"),)), "pid 5 (python3)"),
    (
        "gpu-not-empty",
        "warning",
        gpu(memory_used_bytes=None, processes=(Holder(5, 1, ""),)),
        "not shown here",
    ),
    ("gpu-throttled", "error", gpu(throttled=("hardware thermal slowdown",)), "at 345 of 1980 MHz"),
    ("gpu-throttled", "warning", gpu(throttled=("application clocks",)), "application clocks"),
    ("gpu-throttled", "info", gpu(throttled=("power cap",), sm_clock_mhz=None), "held back: power cap"),
    (
        "gpu-power-limit",
        "warning",
        gpu(power_limit_watts=400.0),
        "limited to 400 W, below its default of 700 W",
    ),
    ("gpu-memory-errors", "error", gpu(ecc_uncorrected=2), "2 uncorrected"),
    ("gpu-memory-errors", "error", gpu(rows_failed=True, rows_pending=True), "could not replace"),
    ("gpu-reset-needed", "warning", gpu(rows_pending=True), "waits for a reset"),
    ("gpu-ecc-off", "info", gpu(ecc=False), "ECC is off on GPU 0"),
    ("gpu-mig", "warning", gpu(mig=True), "MIG is on at GPU 0"),
    ("gpu-compute-mode", "error", gpu(compute_mode="prohibited"), "prohibited"),
    ("gpu-compute-mode", "warning", gpu(compute_mode="exclusive process"), "a second process"),
    ("gpu-persistence-off", "info", gpu(persistence=False), "persistence mode is off"),
    ("gpu-pcie-width", "warning", gpu(pcie_width=8), "8 PCIe lanes of 16"),
    ("gpu-fabric", "error", gpu(fabric="in progress"), "error 802"),
    ("gpu-unknown", "info", replace(GOOD, gpus=tuple(replace(g, name="Foo 9") for g in GPUS)), "Foo 9"),
    ("gpus-differ", "warning", gpu(name="NVIDIA H100"), "NVIDIA H100 (140 GiB), NVIDIA H200 (140 GiB)"),
    ("p2p-off", "warning", pcie("chipset not supported"), "GPU 0 and GPU 1: chipset not supported"),
    ("p2p-off", "info", pcie("not supported", "NVIDIA GeForce RTX 4090"), "1 of 1 pairs"),
    (
        "p2p-off",
        "error",
        replace(GOOD, links=Links((Pair(0, 1, True, 0, True, "not supported", "SYS"),), "nvswitch", "")),
        "cannot reach",
    ),
    (
        "no-switch",
        "info",
        replace(GOOD, links=Links((Pair(0, 1, True, 4, False, "ok", "SYS"),), "nvswitch", "")),
        "joins every pair directly",
    ),
    ("pcie-acs", "warning", pcie(acs_bridges=("0000:00:01.0",)), "at 1 bridges"),
    ("iommu-on", "info", pcie(iommu=True), "the IOMMU is on"),
    (
        "torch-without-cuda",
        "error",
        python(torch="2.11.0+cpu", torch_cuda="", nccl_torch=None),
        "without CUDA",
    ),
    ("driver-too-old", "error", python(cuda_driver="12.8"), "driver 580.159.04 runs CUDA up to 12.8"),
    ("driver-older-minor", "info", python(torch_cuda="13.1"), "CUDA 13.0"),
    (
        "nccl-not-loadable",
        "error",
        python(nccl_torch=library("", "LD_LIBRARY_PATH", "cannot open")),
        "by LD_LIBRARY_PATH does not load: cannot open",
    ),
    (
        "nccl-not-torchs",
        "error",
        python(nccl_torch=library("2.18.5", "LD_PRELOAD")),
        "brings NCCL 2.28.9, but loads 2.18.5 by LD_PRELOAD (/other/libnccl.so.2)",
    ),
    ("nccl-not-torchs", "warning", python(nccl_torch=library("2.30.7", "sys.path")), "loads 2.30.7"),
    (
        "engine-nccl-missing",
        "error",
        python(nccl_engine=library("", "SGLANG_NCCL_SO_PATH", "cannot open")),
        "SGLANG_NCCL_SO_PATH",
    ),
    (
        "engine-nccl-differs",
        "warning",
        python(nccl_engine=library("2.30.7", "SGLANG_NCCL_SO_PATH")),
        "the engine runs NCCL 2.30.7 of SGLANG_NCCL_SO_PATH (/other/libnccl.so.2), and torch's own groups "
        "run 2.28.9 (/venv",
    ),
    (
        "nccl-packages-overlap",
        "warning",
        python(nccl_packages={"nvidia-nccl-cu12": "2.27.5", "nvidia-nccl-cu13": "2.28.9"}),
        "nvidia-nccl-cu12 2.27.5, nvidia-nccl-cu13 2.28.9",
    ),
    ("sglang-version-unknown", "warning", replace(python(sglang="latest"), engine=None), "latest"),
    (
        "sglang-facts-nearest",
        "warning",
        replace(python(sglang="0.9.0"), engine=EngineStanding("0.9.0", "newer", "0.5.23")),
        "SGLang 0.9.0 is newer than the releases that eaglecfg has facts about; those of 0.5.23 apply",
    ),
    ("torch-not-pinned", "warning", python(torch="2.10.0+cu130", nccl_required=""), "pins torch 2.11.0"),
    (
        "driver-too-old-for-engine",
        "error",
        replace(
            python(sglang="0.5.23", torch="2.14.1+cu126", torch_cuda="12.6", cuda_driver="12.8"),
            engine=EngineStanding("0.5.23", "known", "0.5.23"),
        ),
        "SGLang 0.5.23 needs CUDA 13",
    ),
    ("nccl-variable-misread", "error", env(NCCL_NVLS_ENABLE="true"), "NCCL_NVLS_ENABLE=true: NCCL reads 0"),
    ("nccl-variable-misread", "error", env(NCCL_BUFFSIZE="4M"), "NCCL reads 4"),
    ("nccl-variable-misread", "error", env(NCCL_P2P_LEVEL="nvl"), "without a word"),
    ("nccl-variable-misread", "warning", env(NCCL_ALGO=""), "NCCL_ALGO="),
    ("nccl-variable-unread", "warning", env(NCCL_CFT_ENABLE="1"), "NCCL 2.28.9 does not read"),
    ("nccl-variable-unknown", "warning", env(NCCL_PROTOCOL="LL"), "the nearest name is NCCL_PROTO"),
    ("nccl-variable-renamed", "warning", env(NCCL_BLOCKING_WAIT="1"), "TORCH_NCCL_BLOCKING_WAIT today"),
    ("torch-variable-unknown", "warning", env(TORCH_NCCL_PROTO="LL"), "torch does not read"),
    ("torch-variable-slow", "info", env(TORCH_NCCL_NAN_CHECK="1"), "slower"),
    ("engine-variable-unread", "warning", env(SGLANG_ENABLE_PCIE_IPC_ALLREDUCE="1"), "SGLang 0.5.14"),
    ("launch-blocking", "warning", env(CUDA_LAUNCH_BLOCKING="1"), "CUDA_LAUNCH_BLOCKING"),
    ("nccl-p2p-off", "warning", env(NCCL_P2P_DISABLE="1"), "NCCL_P2P_DISABLE=1"),
    ("nccl-p2p-off", "warning", conf(Setting("NCCL_P2P_LEVEL", "LOC", 3)), "NCCL_P2P_LEVEL=LOC"),
    (
        "nccl-conf-applies",
        "warning",
        conf(Setting("NCCL_PROTO", "LL", 3)),
        "/etc/nccl.conf sets NCCL_PROTO=LL",
    ),
    ("nccl-variable-misread", "error", conf(Setting("NCCL_IB_DISABLE", "yes", 3)), "/etc/nccl.conf:3 sets"),
    ("nccl-conf-line", "warning", conf(Setting("NCCL_PROTO ", " LL", 3)), "'NCCL_PROTO '"),
    ("nccl-conf-line", "warning", conf(odd=((4, "NCCL_PROTO LL"),)), "/etc/nccl.conf:4"),
    ("nccl-conf-unread", "warning", conf(state="unreadable"), "cannot be read"),
    ("nccl-conf-unread", "warning", conf(state="absent", NCCL_CONF_FILE="/etc/nccl.conf"), "is not there"),
    (
        "no-gpu-visible",
        "error",
        replace(env(CUDA_VISIBLE_DEVICES=""), gpus=tuple(replace(g, visible=False) for g in GPUS)),
        "leaves none of the 2 GPUs",
    ),
    ("visible-gpu-missing", "error", env(CUDA_VISIBLE_DEVICES="0,1,7"), "names 7, which is no GPU here"),
    ("visible-by-name", "warning", env(CUDA_VISIBLE_DEVICES="GPU-0a,GPU-1a"), "UUID"),
    (
        "gpus-hidden",
        "info",
        replace(env(CUDA_VISIBLE_DEVICES="0"), gpus=(GPUS[0], replace(GPUS[1], visible=False))),
        "leaves 1 of 2",
    ),
    (
        "shared-memory-small",
        "error",
        host(container="docker", shared_memory=SharedMemory("/dev/shm", 64 * MIB, 64 * MIB)),
        "64 MiB left of 64 MiB",
    ),
    (
        "shared-memory-small",
        "warning",
        host(shared_memory=SharedMemory("/dev/shm", 512 * MIB, 512 * MIB)),
        "has 512 MiB",
    ),
    ("shared-memory-full", "error", host(shared_memory=SharedMemory("/dev/shm", 9 * GIB, MIB)), "1 MiB left"),
    (
        "memlock-limited",
        "warning",
        host(infiniband=("mlx5_0",), memlock_bytes=Limit(8 * MIB, 8 * MIB)),
        "lock 8 MiB",
    ),
    ("open-files-few", "warning", host(open_files=Limit(1024, 1024)), "1024 files"),
    ("open-files-few", "info", host(open_files=Limit(1024, None)), "1024 files"),
    ("numa-balancing", "info", host(numa_balancing=True), "NUMA"),
    ("server-running", "warning", server(), "pid 77 of ann since 20"),
    ("server-left", "error", server(marker="m", supervised=False), "outlived its supervisor: pid 77"),
    ("study-running", "warning", server(marker="m", supervised=True), "a server running now"),
    (
        "port-taken",
        "warning",
        replace(GOOD, ports=Ports(30000, (Taken(30000, "", 5, "x"),), 12000, 21999, 0)),
        "port 30000 is taken by pid 5 (x)",
    ),
    (
        "port-taken",
        "info",
        replace(GOOD, ports=Ports(30000, (Taken(40000, "", None, ""),), 12000, 21999, 0)),
        "port 40000 is taken by a process that is not shown; a server on port 30000 may want it",
    ),
    ("tune-ports-taken", "warning", replace(GOOD, ports=Ports(30000, (), 12000, 21999, 9000)), "9000"),
]


def test_a_good_machine_has_no_findings() -> None:
    assert diagnose(GOOD) == []


@pytest.mark.parametrize(("code", "severity", "machine", "says"), CASES, ids=[case[0] for case in CASES])
def test_each_fault_is_found(code: str, severity: str, machine: Machine, says: str) -> None:
    found = [one for one in diagnose(machine) if one.code == code]
    assert found, f"no {code}"
    assert found[0].severity == severity
    assert says in found[0].message
    assert found[0].help or code == "gpus-hidden"
    assert len(found[0].message.splitlines()) == 1


def codes() -> set[str]:
    """Every code that the package can give."""
    folder = Path(eaglecfg.machine.__file__).parent
    text = "".join(path.read_text() for path in folder.glob("*.py"))
    found = set(re.findall(r"Finding\(\s*\"([a-z0-9-]+)\"", text))
    return found | {"shared-memory-full", "shared-memory-small"}


def test_every_kind_of_finding_has_a_case() -> None:
    declared = {"hardware-differs", "gpus-too-few", "engine-differs", "variable-differs"}
    assert codes() == {case[0] for case in CASES} | declared


def test_every_kind_of_finding_is_explained_in_the_docs() -> None:
    page = (Path(eaglecfg.machine.__file__).parents[2] / "docs/doctor.md").read_text()
    assert {code for code in codes() if f"`{code}`" not in page} == set()


@pytest.mark.parametrize(
    ("machine", "quiet"),
    [
        (env(NCCL_VERSION="2.28", NCCL_HOME="/x", NCCL_TUNER_CONFIG_FILE="/x", NCCL_DEBUG="INFO"), True),
        (env(NCCL_PROTO="LL", NCCL_ALGO="Ring", TORCH_NCCL_HIGH_PRIORITY="1", CUDA_HOME="/x"), True),
        (conf(Setting("NCCL_NVLS_ENABLE", "true", 1, "the environment")), True),
        (conf(state="absent"), True),
        (host(memlock_bytes=Limit(MIB, MIB)), True),
        (pcie(acs_bridges=("x",), iommu=True, sandbox="virtual machine"), True),
        (
            replace(
                gpu(memory_used_bytes=90 * GIB, processes=(Holder(78, GIB, "x"),)), servers=server().servers
            ),
            False,
        ),
    ],
)
def test_what_is_as_it_should_be_is_not_found(machine: Machine, quiet: bool) -> None:
    found = {one.code for one in diagnose(machine)}
    assert found == (set() if quiet else {"server-running"})


def test_memory_shared_by_one_gpu_alone_is_no_matter() -> None:
    small = SharedMemory("/dev/shm", 64 * MIB, 64 * MIB)
    alone = replace(host(shared_memory=small), gpus=GPUS[:1], links=Links((), "single", ""))
    assert diagnose(alone) == []


@pytest.mark.parametrize("field", [name for name in Gpu.__annotations__ if name not in ("index", "visible")])
def test_what_a_gpu_does_not_tell_is_never_a_fault(field: str) -> None:
    empty: Any = "" if Gpu.__annotations__[field] == "str" else None
    gpus = tuple(replace(each, **{field: empty}) for each in GPUS)
    assert diagnose(replace(GOOD, gpus=gpus)) == []


def test_a_machine_of_which_nothing_is_known_has_no_findings() -> None:
    from eaglecfg.machine.host import NO_HOST
    from eaglecfg.machine.python import ServingPython

    assert diagnose(Machine(host=NO_HOST, python=ServingPython("x"))) == []


def test_findings_come_worst_first_and_reach_what_they_reach() -> None:
    given = [Finding(severity, severity, "") for severity in reversed(SEVERITIES)]
    assert [one.severity for one in worst_first(given)] == list(SEVERITIES)
    assert [[reaches([one], least) for least in SEVERITIES] for one in worst_first(given)] == [
        [True, True, True],
        [False, True, True],
        [False, False, True],
    ]
    assert not any(reaches([], each) for each in SEVERITIES)
