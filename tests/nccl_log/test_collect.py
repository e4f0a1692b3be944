"""What is read from whole logs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eaglecfg.nccl.log import state
from eaglecfg.nccl.log.compare import compare
from eaglecfg.nccl.log.model import Choice, Taken
from tests.nccl_log.conftest import read, said, written

COMM = "comm 0x55aa rank {rank} nranks 2 cudaDev {rank} nvmlDev {rank} busId 18000"


def started(rank: int = 0, tail: str = "commId 0x8f", call: str = "ncclCommInitRankConfig") -> list[str]:
    """Initialisation of one rank."""
    about = f"{call} {COMM.format(rank=rank)} {tail}"
    return said(f"{about} - Init START", f"{about} - Init COMPLETE", pid=7 + rank, device=rank)


def test_a_whole_job_is_read() -> None:
    log = read(written(NCCL_PROTO="LL", NCCL_NTHREADS="128", NCCL_NVLS_ENABLE="true"))
    assert log.version == "2.27.5"
    assert log.versions == ("2.27.5+cuda12.9",)
    assert log.environment["NCCL_NVLS_ENABLE"] == (Taken("0", 2),)
    (group,) = log.communicators
    assert (group.ranks_total, group.complete, group.channels and group.channels.collective) == (2, True, 24)
    assert [(member.rank, member.bus_id) for member in group.members] == [(0, "18000"), (1, "1a000")]
    assert {edge.kind for edge in log.edges} == {"P2P/CUMEM"}
    assert (log.edges[0].pairs, log.edges[0].channels) == (2, 48)
    assert [(one.bytes, one.shown) for one in log.choices] == [
        (8192, "Ring LL"),
        (57344, "Ring LL"),
        (262144, "Ring LL"),
        (16777216, "Ring LL"),
    ]
    assert {one.communicator for one in log.choices} == {group.id}
    assert log.calls[0].by_rank == {0: 1, 1: 1}
    assert log.calls[0].datatype == "bfloat16"
    assert {(one.protocol, one.threads) for one in log.threads} == {
        ("LL", 128),
        ("LL128", 640),
        ("Simple", 128),
    }
    assert (log.costs[0].latency_us, log.costs[0].bandwidth) == (7.8, 47.0)
    assert log.disagreements == ()
    assert (log.cut, log.dropped) == (0, 0)
    assert log.subsystems == {"INIT", "ENV", "TUNING", "COLL"}


@pytest.mark.parametrize(
    ("line", "choice"),
    [
        (
            "AllReduce: 8192 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={2..5}",
            Choice("AllReduce", 8192, "Ring", "Simple", (2, 5)),
        ),
        (
            "AllGather: 64 Bytes -> Algo NVLS_TREE proto LL128 channel{Lo..Hi}={0..0} cgaClusterSize 4",
            Choice("AllGather", 64, "NVLSTree", "LL128", (0, 0), 4),
        ),
        ("AllReduce: 8 Bytes -> Algo 1 proto 0 time 8.400000", Choice("AllReduce", 8, "Ring", "LL")),
        ("8192 Bytes -> Algo 0 proto 2 time 8.4", Choice("", 8192, "Tree", "Simple")),
        (
            "AllReduce [Symmetric]: 4096 Bytes -> Kernel AllReduce_AGxLL_R nchannels 4 nthreads 512",
            Choice("AllReduce", 4096, channels=(0, 3), kernel="AllReduce_AGxLL_R", threads=512),
        ),
        (
            "AllReduce [Symmetric]: 1 Bytes -> Kernel K nchannels 1 nthreads 64 nWorks 2",
            Choice("AllReduce", 1, channels=(0, 0), kernel="K", threads=64),
        ),
        (
            "AllGather [Copy Engine]: 9 Bytes -> cudaMemcpyBatchAsync; CE synchronization with NVLS",
            Choice("AllGather", 9, engine="Copy Engine (cudaMemcpyBatchAsync; CE synchronization with NVLS)"),
        ),
        (
            "AllGather [Hierarchical CE]: 9 Bytes -> RMA proxy + CE",
            Choice("AllGather", 9, engine="Hierarchical CE (RMA proxy + CE)"),
        ),
    ],
)
def test_every_spelling_of_a_choice(line: str, choice: Choice) -> None:
    assert read(said(line, line)).choices == (replace(choice, count=2, processes=1),)


def test_a_choice_belongs_to_the_communicator_of_the_call_before_it() -> None:
    other = COMM.replace("0x55aa", "0x66bb").format(rank=0)
    lines = started() + said(
        f"ncclCommInitRankConfig {other} commId 0x77 - Init START",
        f"ncclCommInitRankConfig {other} commId 0x77 - Init COMPLETE",
        "AllGather: opCount a sendbuff 0x1 recvbuff 0x2 count 100 datatype 9 op 0 root 0 comm 0x66bb "
        "[nranks=2] stream 0x0",
        "AllGather: 400 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}",
        "AllReduce: 400 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}",
    )
    found = {one.function: (one.communicator, one.ranks) for one in read(lines).choices}
    assert found == {"AllGather": ("0x77", 2), "AllReduce": (None, None)}


def test_ranks_of_a_split_are_one_communicator() -> None:
    lines = []
    for rank in (0, 1):
        lines += started(rank)
        split = f"ncclCommSplit {COMM.replace('0x55aa', '0x66bb').format(rank=rank)} parent 0x55aa"
        lines += said(
            f"{split} splitCount 1 color 3 key {rank}- Init START",
            f"{split} splitCount 1 color 3 key {rank} - Init COMPLETE",
            pid=7 + rank,
        )
    assert [(one.id, len(one.members)) for one in read(lines).communicators] == [("0x8f", 2), ("0x8f/1.3", 2)]


def test_a_pointer_that_is_used_again_is_another_communicator() -> None:
    lines = started() + started(tail="commId 0x90")
    assert [one.id for one in read(lines).communicators] == ["0x8f", "0x90"]


def test_the_newer_head_of_an_initialisation_is_read() -> None:
    about = f"ncclCommInitRankConfig {COMM.format(rank=1)} commId 0x8f"
    log = read(said(f"[Rank 1] {about} - Init START", f"{about} - Init COMPLETE"))
    assert [(one.rank, one.complete) for one in log.communicators[0].members] == [(1, True)]


def test_what_an_initialising_thread_says_belongs_to_its_communicator() -> None:
    head = "box:7:{tid} [0] NCCL INFO "
    lines = []
    for tid, pointer, ident in ((71, "0xa", "0x1"), (72, "0xb", "0x2")):
        about = f"ncclCommInitRank {COMM.replace('0x55aa', pointer).format(rank=0)} commId {ident}"
        lines.append(head.format(tid=tid) + about + " - Init START")
    for tid, count in ((72, 8), (71, 24)):
        lines.append(
            head.format(tid=tid)
            + f"{count} coll channels, 0 collnet channels, 0 nvls channels, 1 p2p channels, "
            + "1 p2p channels per peer"
        )
    found = {one.id: one.channels.collective for one in read(lines).communicators if one.channels}
    assert found == {"0x1": 24, "0x2": 8}


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM", "P2P/CUMEM"),
        ("Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read", "P2P/CUMEM/read"),
        ("Channel 00/0 : 0[0] -> 1[1] via P2P/IPC", "P2P/IPC"),
        ("Channel 00/0 : 0[0] -> 1[1] via P2P/direct pointer", "P2P/direct pointer"),
        ("Channel 00/0 : 0[0] -> 1[1] via P2P/indirect/2[2]", "P2P/indirect"),
        ("Channel 00 : 0[0] -> 1[1] via SHM/direct/direct", "SHM/direct/direct"),
        ("Channel 00 : 0[0] -> 1[1] via SHM/direct", "SHM/direct"),
        ("Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/3/GDRDMA", "NET/IB/GDRDMA"),
        ("Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0", "NET/Socket"),
        ("Channel 00/0 : 0[0] -> 1[1] [receive] via NET/IB/3/GDRDMA", None),
    ],
)
def test_transports(line: str, kind: str | None) -> None:
    assert [edge.kind for edge in read(said(line)).edges] == ([kind] if kind else [])


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("NCCL_NTHREADS set by environment to 128.", "NCCL_NTHREADS", "128"),
        ("NCCL_BUFFSIZE set by environment to -1.", "NCCL_BUFFSIZE", "-1"),
        ("NCCL_P2P_LEVEL set by environment to SYS", "NCCL_P2P_LEVEL", "SYS"),
        ("NCCL_TOPO_FILE set by environment to /a b/c.xml.", "NCCL_TOPO_FILE", "/a b/c.xml."),
        ("NCCL_SOCKET_IFNAME set to eth0", "NCCL_SOCKET_IFNAME", "eth0"),
        ("NET/IB : NCCL_IB_HCA set to mlx5_0", "NCCL_IB_HCA", "mlx5_0"),
        ("Comm config minCTAs reset to NCCL_MIN_CTAS=4", "NCCL_MIN_CTAS", "4"),
        ("Comm config cgaClusterSize reset to NCCL_MAX_CGA_CLUSTER_SIZE=8", "NCCL_CGA_CLUSTER_SIZE", "8"),
        (
            "Comm config graphUsageMode reset to 1 by NCCL_GRAPH_MIXING_SUPPORT=0",
            "NCCL_GRAPH_MIXING_SUPPORT",
            "0",
        ),
    ],
)
def test_variables_that_were_taken(line: str, name: str, value: str) -> None:
    assert read(said(line)).environment == {name: (Taken(value, 1),)}


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        (
            "Invalid value 99999999999999999999 for NCCL_BUFFSIZE, using default -2.",
            "NCCL_BUFFSIZE",
            "9" * 20,
        ),
        ("Invalid NCCL_NTHREADS 100 (must be a multiple of 32)", "NCCL_NTHREADS", "100"),
        ("Invalid NCCL_NTHREADS 9999 (maximum 512).", "NCCL_NTHREADS", "9999"),
        (
            "Env var for maxCTAs=128 is ignored because value out of bound min/max=[1, 64]",
            "NCCL_MAX_CTAS",
            "128",
        ),
        ("NCCL_MIN_CTAS 0 is too low, leaving it set at 1", "NCCL_MIN_CTAS", "0"),
        ("Unknown CTA policy NONE passed as environment variable. Ignoring.", "NCCL_CTA_POLICY", "NONE"),
        ('Unrecognized element token "LLL" when parsing "LLL"', "", "LLL"),
        ('All entries except the first must have a prefix: "a;b"', "", "a;b"),
    ],
)
def test_variables_that_were_refused(line: str, name: str, value: str) -> None:
    (found,) = read(said(line)).refused
    assert (found.name, found.value, found.text) == (name, value.replace("9" * 20, "9" * 20), line)


def test_the_matrix_is_read_from_its_lines_without_a_head() -> None:
    lines = [
        *said("Enabled NCCL Func/Proto/Algo Matrix:"),
        "     Function |       LL     LL128    Simple   |          Tree           Ring  ",
        "[rank1]: something else",
        "    Broadcast |        1         0         0   |             1              1  ",
        "    AllReduce |        1         2         0   |             0              1  ",
    ]
    enabled = {one.function: one for one in read(lines).enabled}
    assert enabled["AllReduce"].protocols == {"LL": 1, "LL128": 2, "Simple": 0}
    assert enabled["AllReduce"].algorithms == {"Tree": 0, "Ring": 1}
    assert set(enabled) == {"Broadcast", "AllReduce"}
    assert read(lines[1:]).enabled == ()


def test_a_table_of_two_blocks_of_algorithms_is_read() -> None:
    row = " %14s   %14s   %14s |"
    lines = said(
        "  Algorithm   |" + row % ("", "Tree", "") + row % ("", "Ring", ""),
        "  Protocol    |" + "".join(f" {name:>14} |" for name in ("LL", "LL128", "Simple") * 2),
        " Max NThreads |" + "".join(f" {number:14d} |" for number in (512, 640, 512, 256, 640, 256)),
        "    AllReduce |" + "".join(f"{number:8.1f}/{number:6.1f} |" for number in (1, 2, 3, 4, 5, 0)),
        "  Algorithm   |" + row % ("", "NVLS", ""),
        "  Protocol    |" + "".join(f" {name:>14} |" for name in ("LL", "LL128", "Simple")),
        "    AllReduce |" + "".join(f"{number:8.1f}/{number:6.1f} |" for number in (0, 0, 25)),
    )
    log = read(lines)
    costs = {(one.algorithm, one.protocol): one.bandwidth for one in log.costs}
    assert costs[("Tree", "LL")] == 1.0
    assert costs[("Ring", "Simple")] == 0.0
    assert costs[("NVLS", "Simple")] == 25.0
    assert len(costs) == 9
    assert {(one.algorithm, one.protocol): one.threads for one in log.threads}[("Ring", "Simple")] == 256


def test_warnings_are_counted_by_their_words() -> None:
    lines = said("Error at 0x1f rank 3", "Error at 0x2f rank 4", level="WARN") + said("x")
    (warned,) = read(lines).warnings
    assert (warned.text, warned.count) == ("Error at 0x1f rank 3", 2)


def test_cut_lines_are_counted() -> None:
    lines = [
        "box:1:1 [0] NCCL INFO AllReduce: 8192 Bytes -> Algo RI",
        "NCCL INFO NCCL_PROTO set by environment to LL",
        "box:1:1 [0] NCCL IN",
    ]
    log = read(lines)
    assert (log.cut, log.choices, log.environment) == (2, (), {})


def test_a_bare_version_line_is_read() -> None:
    log = read(["NCCL version 2.28.9+cuda13.0"])
    assert (log.version, log.messages) == ("2.28.9", 1)
    assert read(["NCCL version 2.28.9+cuda13.0", "NCCL version 2.27.5+cuda12.9"]).version == ""


def test_ranks_that_took_different_values_disagree() -> None:
    lines = started(0) + started(1)
    lines += said("NCCL_PROTO set by environment to LL", pid=7) + said(
        "NCCL_PROTO set by environment to Simple", pid=8
    )
    (found,) = read(lines).disagreements
    assert (found.what, found.text) == ("environment", "NCCL_PROTO is LL on rank 0, Simple on rank 1")


def test_processes_without_a_common_communicator_do_not_disagree() -> None:
    lines = written(2, 100, NCCL_PROTO="LL") + written(2, 300, NCCL_PROTO="Simple")
    assert read(lines).disagreements == ()


def test_ranks_that_called_more_often_disagree() -> None:
    call = (
        "AllReduce: opCount 1 sendbuff 0x1 recvbuff 0x2 count 8 datatype 9 op 0 root 0 comm 0x55aa "
        "[nranks=2] stream 0x0"
    )
    lines = started(0) + started(1) + said(call, call, pid=7) + said(call, pid=8)
    (found,) = read(lines).disagreements
    assert found.text == "AllReduce of 8 bfloat16: 1 times on rank 1, 2 times on rank 0"
    assert read(started(0) + said(call, pid=7)).disagreements == ()  # the other rank's log is not here


def test_ranks_with_different_channels_or_choices_disagree() -> None:
    channels = (
        "{} coll channels, 0 collnet channels, 0 nvls channels, 1 p2p channels, 1 p2p channels per peer"
    )
    choice = "AllReduce: 8 Bytes -> Algo RING proto {} channel{{Lo..Hi}}={{0..0}}"
    lines = started(0) + started(1)
    lines += said(channels.format(24), choice.format("LL"), pid=7)
    lines += said(channels.format(8), choice.format("SIMPLE"), pid=8)
    assert {one.what: one.text for one in read(lines).disagreements} == {
        "channels": "24 channels on rank 0, 8 channels on rank 1",
        "choice": "AllReduce of 8 bytes differs between ranks: Ring LL / Ring Simple",
    }


def test_memory_is_bounded_by_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    tally: state.Tally[int] = state.Tally(most=3)
    for number in range(10):
        tally.add(number, 0)
        tally.add(0, 1)
    assert len(tally.counts) == 3
    assert tally.left_out == 7


def test_two_logs_are_compared_by_message() -> None:
    here, there = read(written(NCCL_PROTO="LL")), read(written())
    found = {one.bytes: (one.here, one.there, one.same) for one in compare(here, there)}
    assert found[16777216] == (("Ring LL, 24 channels",), ("Ring Simple, 24 channels",), False)
    assert found[8192][2]


def test_an_empty_log_says_nothing() -> None:
    log = read(b"")
    assert (log.messages, log.choices, log.version, log.subsystems) == (0, (), "", frozenset())
