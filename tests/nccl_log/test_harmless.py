"""Settings that ask for what NCCL does anyway are no failures."""

from __future__ import annotations

from pathlib import Path

import pytest

from eaglecfg.nccl.facts import variable_fact, variable_names
from eaglecfg.nccl.log.facts import log_facts
from eaglecfg.nccl.log.model import NcclLog
from tests.nccl_log.conftest import read, said, verdict
from tests.nccl_log.test_judge import took

LOGS = Path(__file__).with_name("logs")
P2P = "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM"
SHM = "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct"
CHOICE = "AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}"
NET = "Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0"


def log_of(name: str) -> NcclLog:
    return read((LOGS / name).read_bytes())


def without(*lines: str) -> NcclLog:
    """A whole log that names another variable alone."""
    return read(took("NCCL_NTHREADS", "64", *lines))


@pytest.mark.parametrize(
    ("text", "lines", "status"),
    [
        ("0", [P2P], "acted"),
        ("0", [SHM], "cannot tell"),
        ("0", [], "cannot tell"),
        ("1", [SHM], "not taken"),
        ("2", [P2P], "not taken"),
        ("true", [P2P], "not taken"),
    ],
)
def test_p2p_that_stays_on_is_named_by_no_line(text: str, lines: list[str], status: str) -> None:
    assert verdict("NCCL_P2P_DISABLE", text, without(*lines)).status == status


NETWORK = [
    name
    for name in variable_names()
    if (fact := variable_fact(name)) is not None and fact.acts == "network" and fact.kind == "int"
]


@pytest.mark.parametrize("name", NETWORK)
def test_what_is_read_on_the_way_to_a_network_fails_on_no_single_host(name: str) -> None:
    fact = variable_fact(name)
    assert fact is not None
    default = str(fact.get("default", ""))
    text = default if default.isdecimal() and name != "NCCL_IB_DISABLE" else "1"
    found = verdict(name, text, log_of("simple.log"))
    assert not found.failed or "reads no such variable" in found.why, found


def test_the_network_that_is_named_is_told_beside_it() -> None:
    found = verdict("NCCL_IB_DISABLE", "1", log_of("simple.log"))
    assert found.status == "cannot tell"
    assert found.why == (
        "NCCL reads it on the way to a network, and no ranks talk over one here; NCCL uses network Socket"
    )


def test_what_every_start_reads_and_what_a_network_in_use_reads_was_not_taken() -> None:
    assert verdict("NCCL_SOCKET_IFNAME", "eth7", log_of("simple.log")).status == "not taken"
    assert verdict("NCCL_IB_HCA", "mlx5", without(NET, CHOICE)).status == "not taken"
    assert verdict("NCCL_IB_DISABLE", "1", without(SHM, "Using network IB")).status == "not taken"


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("NCCL_NVLS_ENABLE", "2", []),
        ("NCCL_CUMEM_ENABLE", "-2", ["Channel 00/0 : 0[0] -> 1[1] via P2P/IPC"]),
        ("NCCL_CUMEM_ENABLE", "-2", [P2P]),
        ("NCCL_SHM_DISABLE", "0", [P2P]),
        ("NCCL_IB_DISABLE", "0", ["Using network Socket"]),
    ],
)
def test_a_value_that_leaves_it_to_nccl_is_contradicted_by_nothing(
    name: str, text: str, lines: list[str]
) -> None:
    assert verdict(name, text, read(took(name, text, *lines))).status in ("taken", "acted")


@pytest.mark.parametrize("name", sorted(log_facts()["shown_by"]))
def test_a_default_that_nccl_took_is_contradicted_by_nothing(name: str) -> None:
    fact = variable_fact(name)
    assert fact is not None
    default = str(fact.get("default", ""))
    if fact.kind != "int" or not default.isdecimal():
        return
    for lines in ([P2P], [SHM], [NET], ["Using network Socket"], said("x")):
        found = verdict(name, default, read(took(name, default, *lines, coll=64, version="2.30.7")))
        assert found.status in ("taken", "acted"), (lines, found)
