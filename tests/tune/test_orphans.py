"""What a killed coordinator leaves behind is ended, by its supervisor or by the next coordinator, and
nothing else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from launcher import STANDIN

from eaglecfg.machine.processes import Process, all_processes, boot_id, read_process
from eaglecfg.tune.orphans import end_orphans
from eaglecfg.tune.process import carries, identity_of
from eaglecfg.tune.trial import LaunchRecord

COORDINATOR = """
import json, sys, time
from pathlib import Path
from eaglecfg.tune.launch import run_launch
from eaglecfg.tune.trial import Limits, MeasurePlan, Prompt, ServerCommand

folder, marker, *command = sys.argv[1:]

def tell(event, about):
    if event in ("started", "block", "stopped"):
        print(json.dumps({"event": event, **(about if event == "started" else {})}), flush=True)

run_launch(
    ServerCommand(tuple(command)), MeasurePlan((1,), 10**6, 4, 32), [Prompt("a", (1, 2, 3))],
    Path(folder) / marker, Limits(20, stop_s=8, term_s=0.5), marker=marker, progress=tell,
)
"""
FLAGS = ("--virtual-clock", "--fault", "orphan", "--fault", "nameless")


class Coordinator:
    """A coordinator in a process of its own, whose launch is under way."""

    def __init__(self, folder: Path, marker: str, *flags: str) -> None:
        command = [sys.executable, "-c", COORDINATOR, str(folder), marker, *STANDIN, *(flags or FLAGS)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        started = json.loads(self.process.stdout.readline())
        self.record = LaunchRecord(started["pid"], started["identity"], marker, started["folder"])
        assert json.loads(self.process.stdout.readline())["event"] == "block"
        processes = all_processes()
        self.tree = [processes[started["pid"]]]
        for process in self.tree:
            self.tree.extend(child for child in processes.values() if child.parent == process.pid)

    def kill(self) -> None:
        """What the kernel does to it when memory runs out."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


def alive(tree: list[Process]) -> list[Process]:
    return [p for p in tree if (now := read_process(p.pid)) and now.ticks == p.ticks and now.state != "Z"]


def wait_until(done: Callable[[], bool], limit_s: float) -> float:
    begun = time.monotonic()
    while not done() and time.monotonic() - begun < limit_s:
        time.sleep(0.02)
    return time.monotonic() - begun


def test_a_killed_coordinator_leaves_nothing_within_seconds(tmp_path: Path) -> None:
    coordinator = Coordinator(tmp_path, "orphans-1")
    assert len(coordinator.tree) == 4
    coordinator.kill()
    assert wait_until(lambda: not alive(coordinator.tree), 8) < 5
    assert not any(carries(pid, "orphans-1") for pid in all_processes())
    events = (tmp_path / "orphans-1" / "supervisor.jsonl").read_text().splitlines()
    assert json.loads(events[-1])["event"] == "stopped"
    assert json.loads(events[-1])["leftovers"] == []


def test_the_next_coordinator_waits_for_a_supervisor_that_is_still_at_it(tmp_path: Path) -> None:
    coordinator = Coordinator(tmp_path, "orphans-2")
    coordinator.kill()
    cleanup = end_orphans([coordinator.record])["orphans-2"]
    assert cleanup.proven
    assert cleanup.seconds < 5
    assert not alive(coordinator.tree)


def test_the_next_coordinator_ends_what_lost_coordinator_and_supervisor(tmp_path: Path) -> None:
    coordinator = Coordinator(tmp_path, "orphans-3")
    os.kill(coordinator.process.pid, signal.SIGSTOP)  # so that it can't clean up itself
    os.kill(coordinator.record.pid, signal.SIGKILL)
    coordinator.kill()
    assert wait_until(lambda: len(alive(coordinator.tree)) <= 2, 5) < 5, "the server dies with its supervisor"
    assert len(alive(coordinator.tree)) == 2, "the children that hide don't"
    cleanup = end_orphans([coordinator.record], term_s=0.2)["orphans-3"]
    assert cleanup.proven
    assert not alive(coordinator.tree)
    assert "SIGKILL" in cleanup.note


def test_ctrl_c_stops_the_server_and_then_interrupts(tmp_path: Path) -> None:
    coordinator = Coordinator(tmp_path, "orphans-4", "--virtual-clock", "--fault", "orphan")
    coordinator.process.send_signal(signal.SIGINT)
    output, _ = coordinator.process.communicate(timeout=10)
    assert '"stopped"' in output.splitlines()[-1]
    assert coordinator.process.returncode in (-signal.SIGINT, 130, 1)
    assert not alive(coordinator.tree)


def test_repeated_ctrl_c_still_leaves_nothing(tmp_path: Path) -> None:
    coordinator = Coordinator(tmp_path, "orphans-5", "--virtual-clock", "--fault", "stubborn")
    for _ in range(6):
        coordinator.process.send_signal(signal.SIGINT)
        time.sleep(0.05)
    coordinator.process.communicate(timeout=10)
    assert wait_until(lambda: not alive(coordinator.tree), 8) < 5


@pytest.mark.parametrize("case", ["other-boot", "other-start", "no-identity", "other-marker"])
def test_processes_that_do_not_match_are_left_alone(case: str, tmp_path: Path) -> None:
    # The pid of the record now belongs to somebody else, or the marker does.
    environment = {"EAGLECFG_LAUNCH": "theirs"}
    foreign = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], env=environment)
    try:
        identity = identity_of(foreign.pid)
        ticks = int(identity.rpartition(":")[2])
        given = {
            "other-boot": (f"00000000-0000-0000-0000-000000000000:{ticks}", "theirs"),
            "other-start": (f"{boot_id()}:{ticks + 1}", "theirs"),
            "no-identity": ("", "theirs"),
            "other-marker": (f"{boot_id()}:{ticks + 1}", "ours"),
        }[case]
        record = LaunchRecord(foreign.pid, given[0], given[1], str(tmp_path))
        end_orphans([record], term_s=0.2, stop_s=1)
        assert foreign.poll() is None
    finally:
        foreign.kill()
        foreign.wait()


def test_a_reboot_is_proof_enough() -> None:
    record = LaunchRecord(1, "00000000-0000-0000-0000-000000000000:5", "gone")
    assert end_orphans([record])["gone"].proven
