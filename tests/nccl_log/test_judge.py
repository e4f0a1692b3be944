"""Verdicts on settings: never better than what the log shows."""

from __future__ import annotations

import pytest

from eaglecfg.nccl.log.evidence import size
from eaglecfg.nccl.log.judge import OF_THE_LOG, Asked, judge
from tests.nccl_log.conftest import read, said, verdict, verdicts, written

CHOICE = "{}: {} Bytes -> Algo {} proto {} channel{{Lo..Hi}}={{0..0}}"
DONE = (
    "ncclCommInitRank comm 0xa rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1 commId 0x1 - Init START",
    "{} coll channels, 0 collnet channels, {} nvls channels, 1 p2p channels, 1 p2p channels per peer",
    "ncclCommInitRank comm 0xa rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1 commId 0x1 - Init COMPLETE",
)


ASKED = tuple(
    Asked(name, text, text, version="2.27.5")
    for name, text in {
        "NCCL_PROTO": "LL",
        "NCCL_ALGO": "allreduce:tree",
        "NCCL_NTHREADS": "64",
        "NCCL_P2P_LEVEL": "SYS",
        "NCCL_THREAD_THRESHOLDS": "1 2 3",
        "NCCL_NVLS_ENABLE": "1",
        "NCCL_NVLS_NCHANNELS": "8",
        "NCCL_MIN_NCHANNELS": "4",
        "NCCL_MAX_CTAS": "8",
        "NCCL_SHM_DISABLE": "1",
        "NCCL_CUMEM_ENABLE": "0",
        "NCCL_NET": "IB",
        "NCCL_IB_DISABLE": "1",
        "NCCL_CGA_CLUSTER_SIZE": "2",
        "NCCL_SYM_KERNEL": "^K",
        "NCCL_SYM_NOWIN_ENABLE": "1",
        "NCCL_TUNER_PLUGIN": "x",
        "NCCL_NO_SUCH": "1",
        "NCCL_BUFFSIZE": "true",
    }.items()
)
"""A setting for every reader of evidence."""


def job(*more: str, coll: int = 24, nvls: int = 0, version: str = "2.27.5") -> list[str]:
    """One rank that finished, with ENV on, and what else it says."""
    lines = [f"NCCL version {version}", "NCCL_SOCKET_NTHREADS set by environment to 1."]
    return said(*lines, *(line.format(coll, nvls) for line in DONE), *more)


def took(name: str, value: str, *more: str, **options: object) -> list[str]:
    """The same, having taken a variable."""
    return job(f"{name} set by environment to {value}", *more, **options)  # type: ignore[arg-type]


def test_settings_of_a_whole_job() -> None:
    variables = {
        "NCCL_PROTO": "LL",
        "NCCL_NTHREADS": "128",
        "NCCL_NVLS_ENABLE": "true",
        "NCCL_BUFFSIZE": "4M",
        "NCCL_P2P_LEVEL": "sys",
        "NCCL_NO_SUCH": "1",
        "NCCL_CUMEM_ENABLE": "0",
        "NCCL_MAX_NCHANNELS": "4",
        "NCCL_GRAPH_REGISTER": "0",
        "NCCL_DEBUG": "INFO",
    }
    found = verdicts(variables, read(written(**variables)))
    assert {name: one.status for name, one in found.items()} == {
        "NCCL_PROTO": "acted",
        "NCCL_NTHREADS": "acted",
        "NCCL_NVLS_ENABLE": "misread",
        "NCCL_BUFFSIZE": "misread",
        "NCCL_P2P_LEVEL": "not taken",
        "NCCL_NO_SUCH": "not taken",
        "NCCL_CUMEM_ENABLE": "acted",
        "NCCL_MAX_NCHANNELS": "acted",
        "NCCL_GRAPH_REGISTER": "taken",
    }


def test_a_variable_that_no_line_names_was_not_taken() -> None:
    assert verdict("NCCL_PROTO", "LL", read(written())).status == "contradicted"  # 16 MiB ran Simple
    small = [line for line in written() if "SIMPLE" not in line]
    found = verdict("NCCL_PROTO", "LL", read(small))
    assert (found.status, found.failed) == ("cannot tell", False)  # nothing shows that ENV was on
    assert found.needs == ("ENV",)
    found = verdict("NCCL_PROTO", "LL", read(small, subsystems=("ENV",)))
    assert (found.status, found.failed) == ("not taken", True)
    found = verdict("NCCL_PROTO", "LL", read([*small, *said("NCCL_NTHREADS set by environment to 64.")]))
    assert found.status == "not taken"


def test_nothing_is_said_before_a_communicator_is_ready() -> None:
    lines = said("NCCL_NTHREADS set by environment to 64.")
    assert verdict("NCCL_PROTO", "LL", read(lines)).status == "cannot tell"


@pytest.mark.parametrize(
    ("name", "text", "lines", "status"),
    [
        ("NCCL_PROTO", "LL", [CHOICE.format("AllReduce", 8, "RING", "LL")], "acted"),
        ("NCCL_PROTO", "LL", [CHOICE.format("AllReduce", 8, "RING", "SIMPLE")], "contradicted"),
        ("NCCL_PROTO", "allreduce:LL", [CHOICE.format("AllGather", 8, "RING", "SIMPLE")], "taken"),
        ("NCCL_PROTO", "^LL128", [CHOICE.format("AllReduce", 8, "RING", "SIMPLE")], "acted"),
        ("NCCL_PROTO", "^Simple", [CHOICE.format("AllReduce", 8, "RING", "SIMPLE")], "contradicted"),
        ("NCCL_PROTO", "LL", [], "taken"),
        (
            "NCCL_PROTO",
            "LL",
            ["AllReduce [Symmetric]: 8 Bytes -> Kernel AllReduce_AGxLL_R nchannels 1 nthreads 64"],
            "taken",
        ),
        ("NCCL_ALGO", "Tree", [CHOICE.format("AllReduce", 8, "TREE", "LL")], "acted"),
        ("NCCL_ALGO", "nvls,ring", [CHOICE.format("AllReduce", 8, "NVLS", "SIMPLE")], "acted"),
        ("NCCL_ALGO", "Tree", [CHOICE.format("AllReduce", 8, "RING", "LL")], "contradicted"),
        ("NCCL_ALGO", "Tree", ["8 Bytes -> Algo 1 proto 0 time 8.4"], "contradicted"),
    ],
)
def test_lists_against_what_ran(name: str, text: str, lines: list[str], status: str) -> None:
    assert verdict(name, text, read(took(name, text, *lines))).status == status


@pytest.mark.parametrize(
    ("name", "value", "more", "status"),
    [
        ("NCCL_P2P_DISABLE", "1", ["Channel 00 : 0[0] -> 1[1] via SHM/direct/direct"], "acted"),
        ("NCCL_P2P_DISABLE", "1", ["Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM"], "contradicted"),
        ("NCCL_P2P_DISABLE", "1", [], "taken"),
        ("NCCL_P2P_LEVEL", "SYS", ["Channel 00/0 : 0[0] -> 1[1] via P2P/IPC"], "acted"),
        ("NCCL_P2P_LEVEL", "SYS", ["Channel 00 : 0[0] -> 1[1] via SHM/direct"], "taken"),
        ("NCCL_P2P_LEVEL", "LOC", ["Channel 00 : 0[0] -> 1[1] via SHM/direct"], "acted"),
        ("NCCL_SHM_DISABLE", "1", ["Channel 00 : 0[0] -> 1[1] via SHM/direct"], "contradicted"),
        ("NCCL_SHM_DISABLE", "1", ["Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0"], "acted"),
        ("NCCL_CUMEM_ENABLE", "0", ["Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM"], "contradicted"),
        ("NCCL_CUMEM_ENABLE", "1", ["Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read"], "acted"),
        ("NCCL_CUMEM_ENABLE", "1", ["Channel 00 : 0[0] -> 1[1] via SHM/direct"], "taken"),
        ("NCCL_MIN_NCHANNELS", "32", [], "contradicted"),
        ("NCCL_MIN_NCHANNELS", "16", [], "acted"),
        ("NCCL_MAX_CTAS", "8", [], "contradicted"),
        ("NCCL_NVLS_ENABLE", "1", [], "contradicted"),
        ("NCCL_NVLS_ENABLE", "0", [], "acted"),
        ("NCCL_NVLS_NCHANNELS", "8", [], "contradicted"),
        ("NCCL_BUFFSIZE", "1048576", [], "taken"),
        ("NCCL_NTHREADS", "128", [], "taken"),
        ("NCCL_IB_DISABLE", "1", ["Using network Socket"], "acted"),
        ("NCCL_IB_DISABLE", "1", ["Using network IBext_v8"], "contradicted"),
    ],
)
def test_what_other_variables_show(name: str, value: str, more: list[str], status: str) -> None:
    end = "" if name.endswith("LEVEL") else "."
    found = verdict(name, value, read(took(name, value + end, *more)))
    assert found.status == status
    assert found.why


def test_nvls_that_ran_shows_it() -> None:
    lines = took("NCCL_NVLS_ENABLE", "1.", nvls=16)
    assert verdict("NCCL_NVLS_ENABLE", "1", read(lines)).status == "acted"
    assert (
        verdict("NCCL_NVLS_ENABLE", "0", read(took("NCCL_NVLS_ENABLE", "0.", nvls=16))).status
        == "contradicted"
    )


def test_thresholds_network_and_tuner() -> None:
    lines = took("NCCL_THREAD_THRESHOLDS", "1 2 3", "threadThresholds 1/2/3 | 16/8/64 | 512 | 512")
    assert verdict("NCCL_THREAD_THRESHOLDS", "1 2 3", read(lines)).status == "acted"
    assert verdict("NCCL_THREAD_THRESHOLDS", "1 2 4", read(lines)).status == "overridden"
    lines = job("Using network Socket")
    assert verdict("NCCL_NET", "socket", read(lines)).status == "acted"  # 2.27 has no line of its own for it
    assert verdict("NCCL_NET", "IB", read(lines)).status == "contradicted"


@pytest.mark.parametrize(
    ("line", "name", "text"),
    [
        ("Invalid NCCL_NTHREADS 100 (must be a multiple of 32)", "NCCL_NTHREADS", "100"),
        ('Unrecognized element token "LLL" when parsing "LLL"', "NCCL_PROTO", "LLL"),
        (
            "Invalid value 99999999999999999999 for NCCL_BUFFSIZE, using default -2.",
            "NCCL_BUFFSIZE",
            "9" * 20,
        ),
        (
            "Env var for maxCTAs=128 is ignored because value out of bound min/max=[1, 64]",
            "NCCL_MAX_CTAS",
            "128",
        ),
    ],
)
def test_what_nccl_refuses_was_not_taken(line: str, name: str, text: str) -> None:
    found = verdict(name, text, read(job(line)))
    assert found.status == "not taken"
    assert line in found.why


def test_another_value_than_asked_is_an_override() -> None:
    log = read(took("NCCL_CUMEM_ENABLE", "0."))
    assert "nccl.conf" in verdict("NCCL_CUMEM_ENABLE", "1", log).why
    found = verdict("NCCL_CUMEM_ENABLE", "1", log, sees="0", why="--enable-x")
    assert (found.status, found.taken) == ("overridden", ("0",))
    assert "--enable-x" in found.why
    gone = verdict("NCCL_CUMEM_ENABLE", "1", read(job()), sees=None, why="--enable-x")
    assert gone.status == "overridden"


def test_processes_that_took_different_values() -> None:
    lines = took("NCCL_PROTO", "LL") + said("NCCL_PROTO set by environment to Simple", pid=9)
    assert verdict("NCCL_PROTO", "LL", read(lines)).status == "overridden"


def test_a_variable_of_another_version_was_not_taken() -> None:
    found = verdict("NCCL_SHM_USE_CUDA_MEMCPY", "1", read(job(version="2.30.7")))
    assert (found.status, found.why) == ("not taken", "NCCL 2.30.7 reads no such variable")


def test_a_variable_that_is_read_late_is_not_judged_by_a_log_that_ends_early() -> None:
    found = verdict("NCCL_GRAPH_REGISTER", "0", read(job()))
    assert found.status == "cannot tell"
    ran = read(job(CHOICE.format("AllReduce", 8, "RING", "LL")))
    assert verdict("NCCL_GRAPH_REGISTER", "0", ran).status == "not taken"


def test_a_variable_of_which_nccl_says_nothing_cannot_be_told() -> None:
    assert verdict("NCCL_TUNER_PLUGIN", "x", read(job())).status == "cannot tell"
    used = read(job("TUNER/Plugin: Using tuner plugin x"))
    assert verdict("NCCL_TUNER_PLUGIN", "x", used).status == "acted"


def test_hexadecimal_is_the_same_number() -> None:
    assert verdict("NCCL_NTHREADS", "0x80", read(took("NCCL_NTHREADS", "128."))).status == "taken"
    assert verdict("NCCL_NTHREADS", "0200", read(took("NCCL_NTHREADS", "128."))).status == "misread"


def test_an_empty_log_tells_nothing() -> None:
    found = verdicts({"NCCL_PROTO": "LL", "NCCL_P2P_LEVEL": "SYS", "NCCL_NTHREADS": "64"}, read(b""))
    assert {one.status for one in found.values()} == {"cannot tell"}


def test_variables_of_the_log_itself_are_not_judged() -> None:
    assert judge([Asked(name, "INFO", "INFO") for name in OF_THE_LOG], read(b"")) == ()


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (57344, "56 KiB"),
        (1024 * 100 + 512, "100.5 KiB"),
        (1 << 20, "1 MiB"),
    ],
)
def test_sizes(count: int, shown: str) -> None:
    assert size(count) == shown
