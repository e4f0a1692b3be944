"""Logs that NCCL 2.28.9 wrote on two H200; logs/README.md says how."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from eaglecfg.nccl.log.compare import compare
from eaglecfg.nccl.log.facts import log_facts
from eaglecfg.nccl.log.judge import Asked, judge
from eaglecfg.nccl.log.model import NcclLog
from eaglecfg.nccl.log.summary import read_log
from eaglecfg.report.nccl_log import Shown, render
from eaglecfg.report.styled import plain
from tests.nccl_log.conftest import verdicts

LOGS = Path(__file__).parent / "logs"
MIB = 1 << 20


def real(*names: str) -> NcclLog:
    """What some of the logs say together."""
    return read_log((name, io.BytesIO((LOGS / f"{name}.log").read_bytes())) for name in names)


def chosen(log: NcclLog, function: str = "AllReduce") -> dict[int, tuple[str, int]]:
    """Bytes -> what was chosen, and the number of channels."""
    return {
        one.bytes: (one.shown, one.channels[1] - one.channels[0] + 1)
        for one in log.choices
        if one.function == function and one.channels is not None
    }


@pytest.mark.parametrize("name", sorted(path.stem for path in LOGS.glob("*.log")))
def test_nothing_is_taken_for_cut(name: str) -> None:
    log = real(name)
    assert log.version == "2.28.9"
    assert (log.cut, log.dropped, log.disagreements) == (0, 0, ())


@pytest.mark.parametrize("name", ["default", "stamped"])
def test_what_nccl_chooses_by_itself(name: str) -> None:
    log = real(name)
    (group,) = log.communicators
    assert group.complete
    assert [(one.rank, one.device, one.bus_id) for one in group.members] == [(0, 0, "60"), (1, 1, "70")]
    assert group.channels is not None
    assert (group.channels.collective, group.channels.nvls) == (24, 0)
    assert {one.kind for one in log.edges} == {"P2P/CUMEM"}
    assert chosen(log) == {
        8192: ("Ring LL", 1),
        57344: ("Ring LL", 7),
        262144: ("Ring LL", 22),
        MIB: ("Ring LL", 24),
        16 * MIB: ("Ring Simple", 24),
    }
    assert chosen(log, "AllGather") == {57344: ("Ring LL", 14)}
    assert {
        (one.communicator, one.ranks, one.count) for one in log.choices if one.function == "AllReduce"
    } == {(group.id, 2, 3)}


def test_the_cost_table_and_calls_of_both_ranks() -> None:
    log = real("default")
    costs = {
        (one.algorithm, one.protocol): (one.latency_us, one.bandwidth)
        for one in log.costs
        if one.function == "AllReduce"
    }
    assert costs["Ring", "LL"] == (7.8, 141.0)
    assert costs["Tree", "LL128"] == (16.5, 180.6)
    assert costs["NVLS", "Simple"] == (0.0, 0.0)
    assert {(one.algorithm, one.protocol): one.threads for one in log.threads}["Ring", "LL128"] == 640
    assert log.communicators[0].nodes == 1
    assert log.communicators[0].thresholds == "8/8/64 | 16/8/64 | 512 | 512"
    assert log.networks == ("Socket",)
    assert {dict(one.by_rank)[0] == dict(one.by_rank)[1] for one in log.calls} == {True}
    assert log.subsystems >= {"INIT", "ENV", "TUNING", "COLL", "GRAPH"}


def test_settings_that_act() -> None:
    asked = {"NCCL_PROTO": "Simple", "NCCL_NTHREADS": "128", "NCCL_MAX_NCHANNELS": "4"}
    log = real("simple")
    assert {one.status for one in verdicts(asked, log).values()} == {"acted"}
    enabled = {one.function: one for one in log.enabled}
    assert enabled["AllReduce"].protocols == {"LL": 0, "LL128": 0, "Simple": 1}
    assert {one.protocol for one in log.costs if one.bandwidth} == {"Simple"}
    assert not any(one.same for one in compare(log, real("default")))


def test_a_log_for_each_process() -> None:
    log = real("ll-ring.0", "ll-ring.1")
    assert log.communicators[0].complete
    assert [one.processes for one in log.environment["NCCL_PROTO"]] == [2]
    assert {one.status for one in verdicts({"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring"}, log).values()} == {
        "acted"
    }
    alone = real("ll-ring.1")
    assert not alone.communicators[0].complete
    assert alone.choices == ()


def test_values_that_nccl_reads_as_something_else() -> None:
    asked = {
        "NCCL_P2P_DISABLE": "1",
        "NCCL_BUFFSIZE": "4M",
        "NCCL_NVLS_ENABLE": "true",
        "NCCL_P2P_LEVEL": "sys",
        "NCCL_NO_SUCH": "1",
    }
    log = real("misread")
    assert {name: one.status for name, one in verdicts(asked, log).items()} == {
        "NCCL_P2P_DISABLE": "acted",
        "NCCL_BUFFSIZE": "misread",
        "NCCL_NVLS_ENABLE": "misread",
        "NCCL_P2P_LEVEL": "not taken",
        "NCCL_NO_SUCH": "not taken",
    }
    assert {one.kind for one in log.edges} == {"SHM/direct/direct"}
    # With 4 bytes of buffer the first message that takes Simple ends both ranks.
    assert set(chosen(log)) == {8192, 57344, 262144}


def test_the_default_subsystems_show_what_is_taken_and_not_what_is_chosen() -> None:
    found = verdicts({"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring"}, real("default-subsystems"))
    assert (found["NCCL_PROTO"].status, found["NCCL_PROTO"].needs) == ("taken", ("TUNING",))
    assert found["NCCL_ALGO"].status == "not taken"


def test_a_list_that_nccl_refuses() -> None:
    log = real("refused")
    assert log.levels == {"WARN"}
    assert verdicts({"NCCL_PROTO": "nonsense"}, log)["NCCL_PROTO"].status == "not taken"
    assert log.warnings[0].where == "graph/tuning.cc:104"


def test_captured_calls_are_named_once_however_often_they_are_replayed() -> None:
    assert [(one.bytes, one.count) for one in real("graph").choices] == [(57344, 3)]


@pytest.mark.parametrize("width", [60, 80, 110])
@pytest.mark.parametrize("name", sorted(path.stem for path in LOGS.glob("*.log")))
def test_what_is_shown_fits_the_terminal(name: str, width: int) -> None:
    log = real(name)
    asked = tuple(Asked(one, "1", "1") for one in log_facts()["shown_by"])
    shown = Shown(log, "chat", judge(asked, log), "ll-ring.0.log", compare(log, real("ll-ring.0")))
    rows = plain(render(shown, width)).splitlines()
    assert [row for row in rows if len(row) > width and " " in row.strip()] == []
    assert sorted(" ".join(rows).split()) == sorted(plain(render(shown, 1000)).split())
