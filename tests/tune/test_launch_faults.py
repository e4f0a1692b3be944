"""Every fault gets its class, its decisive lines, and a clean machine afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from launcher import EAGLE, LIMITS, PLAN, STANDIN

from eaglecfg.machine.processes import Process, all_processes, command_line, descendants, read_process
from eaglecfg.tune import client
from eaglecfg.tune.process import carries
from eaglecfg.tune.trial import LaunchResult, MeasurePlan, ServerCommand

if TYPE_CHECKING:
    from launcher import Launcher

SHORT = replace(LIMITS, startup_s=1.5)
WARMED = 4 + 2 * 2 * 32 + 40
"""Tokens after which a fault falls into the first block: ready, two warm-up windows, and a little."""


def left_of(result: LaunchResult) -> list[str]:
    return [command_line(pid) for pid in all_processes() if carries(pid, result.marker)]


@pytest.mark.parametrize(
    ("fault", "failure", "words"),
    [
        ("flag", "flag", "unrecognized arguments: --no-such-flag"),
        ("refuse", "flag", "ValueError: topk > 1"),
        ("import", "import", "No module named 'flashinfer'"),
        ("oom", "oom", "CUDA out of memory"),
        ("memory", "oom", "Not enough memory"),
        ("nccl", "nccl", "ncclInvalidUsage"),
        ("cuda", "cuda", "no kernel image"),
        ("port", "machine", "address already in use"),
        ("grpc", "machine", "SGLANG_GRPC_PORT (70657)"),
        ("disk", "machine", "No space left on device"),
    ],
)
def test_exits_at_start_are_classified_by_their_log(
    launch: Launcher, fault: str, failure: str, words: str
) -> None:
    result = launch("--fault", fault)
    assert (result.outcome, result.failure) == ("failed", failure)
    assert words in " ".join(result.lines)
    assert "during start-up with exit status" in result.message
    assert result.startup_s is None
    assert result.cleanup.proven


@pytest.mark.parametrize(
    ("fault", "failure"),
    [("oom-run", "oom"), ("cuda-run", "cuda"), ("nccl-run", "nccl"), ("crash", "crash")],
)
def test_deaths_under_load_are_noticed_within_a_second(launch: Launcher, fault: str, failure: str) -> None:
    result = launch("--fault", f"{fault}:{WARMED}")
    assert result.failure == failure
    assert "under load with signal 6" in result.message
    assert result.cleanup.proven
    events = read_events(result)
    assert events["stopping"]["time"] - events["exit"]["time"] < 1
    assert result.timings["total"] < 5


def test_a_silent_exit_is_a_crash(launch: Launcher) -> None:
    result = launch("--fault", "no-port", "--fault", "exit:0.1")
    assert result.failure == "crash"
    assert "during start-up with exit status 3" in result.message


@pytest.mark.parametrize("fault", ["no-port", "deaf", "slow-start:30", "hang:1"])
def test_no_answer_within_the_start_up_limit(launch: Launcher, fault: str) -> None:
    result = launch("--fault", fault, limits=SHORT)
    assert result.failure == "startup"
    assert "start-up limit of 1.5 s" in result.message
    assert result.cleanup.proven
    assert SHORT.startup_s <= result.timings["total"] < SHORT.startup_s + 3


@pytest.mark.parametrize(
    ("said", "failure"),
    [
        ("flashinfer API is not available (No module named 'cuda.tile'), falling back", "startup"),
        ("NCCL WARN no plug-in found", "startup"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "oom"),
    ],
)
def test_a_server_that_lives_at_the_limit_was_slow_unless_its_log_tells_of_its_end(
    launch: Launcher, said: str, failure: str
) -> None:
    result = launch("--fault", f"say:{said}", "--fault", "no-port", limits=replace(SHORT, startup_s=0.6))
    assert result.failure == failure
    assert "no answer within the start-up limit of 0.6 s" in result.message


def test_a_slow_start_within_the_limit_is_no_fault(launch: Launcher) -> None:
    result = launch("--fault", "slow-start:1")
    assert result.outcome == "ok", result.message
    assert result.startup_s is not None
    assert result.startup_s > 1


def test_a_hang_in_the_warm_up_has_only_the_start_up_limit(launch: Launcher) -> None:
    result = launch("--fault", "hang:30", limits=replace(LIMITS, startup_s=2.5, hang_floor_s=0.2))
    assert result.failure == "startup"
    assert "the warm-up did not end" in result.message


@pytest.mark.parametrize("fault", ["hang", "freeze"])
def test_silence_after_the_warm_up_is_a_hang(launch: Launcher, fault: str) -> None:
    result = launch("--fault", f"{fault}:{WARMED}")
    assert result.failure == "hang"
    assert "no token for 1." in result.message
    assert result.cleanup.proven
    states = json.loads((Path(result.folder) / "processes.json").read_text())
    # A hung server may be seen on a core ("R") as well as asleep ("S"); only a frozen one is stopped.
    assert [state["state"] == "T" for state in states] == [fault == "freeze"]


SLOW = MeasurePlan((2,), 2, 4, 8, warmup_requests=2, warmup_agreement=1.0)


def test_a_slow_server_is_not_taken_for_a_hanging_one(launch: Launcher) -> None:
    command = ServerCommand((*STANDIN, *EAGLE, "--fault", "slow:0.1"))
    result = launch(plan=SLOW, limits=replace(LIMITS, hang_floor_s=0.05), command=command)
    assert (result.outcome, result.message) == ("ok", "")
    assert [block.failed for block in result.blocks] == [0, 0]


def test_a_slow_server_that_hangs_is_given_twenty_of_its_steps(launch: Launcher) -> None:
    faults = ("--fault", "slow:0.1", "--fault", f"hang:{4 + 2 * 2 * 8 + 10}")
    command = ServerCommand((*STANDIN, *EAGLE, *faults))
    result = launch(plan=SLOW, limits=replace(LIMITS, hang_floor_s=0.05), command=command)
    assert result.failure == "hang"
    (waited,) = re.findall(r"no token for ([\d.]+) s", result.message)
    assert 20 * 0.1 <= float(waited) <= 20 * 0.2


def test_a_server_that_freezes_between_two_blocks_is_a_hang(
    launch: Launcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "SHORT_S", 0.5)
    result = launch("--fault", f"freeze-idle:{WARMED}")
    assert result.failure == "hang"
    assert len(result.blocks) == 1
    # One request for a flush that nobody answers, then the silence that is allowed.
    assert result.timings["total"] < result.timings["startup"] + 0.5 + LIMITS.hang_floor_s + 2.5
    assert result.cleanup.proven


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("truncate", "of 4 tokens although ignore_eos was set"),
        ("abort", "aborted: the request was aborted"),
        ("garbage", "not JSON"),
        ("reject", "HTTP 400"),
    ],
)
def test_answers_that_are_not_what_was_asked_make_the_launch_invalid(
    launch: Launcher, fault: str, words: str
) -> None:
    result = launch("--fault", fault)
    assert result.failure == "output"
    assert words in result.message
    assert result.cleanup.proven


@pytest.mark.parametrize("fault", ["orphan", "nameless", "stubborn"])
def test_processes_that_hide_or_resist_are_ended(launch: Launcher, fault: str) -> None:
    tree: list[Process] = []

    def look(event: str, about: Any) -> None:
        if event == "stopping":
            tree.extend(below_supervisor(launch))

    result = launch("--fault", fault, hear=look)
    assert result.outcome == "ok", result.message
    assert result.cleanup.proven
    assert result.cleanup.seconds < 5
    ended = read_events(result)["stopped"]["ended"]
    assert any(text.startswith("SIGKILL") for text in ended)
    assert len(tree) == (1 if fault == "stubborn" else 2)
    assert not any(read_process(process.pid) == process for process in tree)
    assert left_of(result) == []


def test_a_child_that_its_server_never_collected_is_no_zombie_afterwards(launch: Launcher) -> None:
    tree: list[Process] = []

    def look(event: str, about: Any) -> None:
        if event == "stopping":
            tree.extend(below_supervisor(launch))

    result = launch("--fault", "zombie", hear=look)
    assert result.outcome == "ok", result.message
    assert result.cleanup.proven
    assert sorted(process.state == "Z" for process in tree) == [False, True]
    assert [read_process(process.pid) for process in tree] == [None, None]


def test_shared_memory_of_the_launch_is_removed_and_no_other(launch: Launcher) -> None:
    foreign = Path(f"/dev/shm/eaglecfg-test-{os.getpid()}")
    foreign.write_bytes(b"x")
    try:
        result = launch("--fault", "shared-memory")
        removed = read_events(result)["stopped"]["shared_memory_removed"]
        assert len(removed) == 1
        assert removed[0].startswith("standin-")
        assert not Path("/dev/shm", removed[0]).exists()
        assert foreign.exists()
        assert result.cleanup.proven
    finally:
        foreign.unlink()


def test_a_launch_command_that_does_not_exist(launch: Launcher) -> None:
    result = launch(command=ServerCommand(("/nowhere/python", "-m", "sglang.launch_server")))
    assert result.failure == "startup"
    assert "/nowhere/python: No such file or directory" in result.message
    assert result.cleanup.proven


def test_a_foreign_server_survives_a_launch_that_fails(launch: Launcher) -> None:
    port = free_port()
    with foreign_server(port) as foreign:
        for fault in ("crash:60", "orphan"):
            launch("--fault", fault)
        assert foreign.poll() is None
        with socket.create_connection(("127.0.0.1", port), timeout=2):
            pass


def test_another_program_on_the_port_is_a_machine_failure_and_survives(
    launch: Launcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A lost race: the port that was chosen as free belongs to a foreign server that answers like ours.
    port = free_port()
    monkeypatch.setattr("eaglecfg.tune.launch.free_port", lambda: port)
    with foreign_server(port) as foreign:
        waiting = ServerCommand((*STANDIN, *EAGLE, "--fault", "slow-start:20"))
        result = launch(command=waiting)
        assert result.failure == "machine"
        assert f"another program took port {port}" in result.message
        assert result.cleanup.proven
        loser = launch()
        assert loser.failure == "machine"
        assert foreign.poll() is None


def test_a_stop_command_is_run_with_the_launchs_id(launch: Launcher, tmp_path: Path) -> None:
    told = tmp_path / "told"
    stop = (sys.executable, "-c", f"import sys; open({str(told)!r}, 'w').write(sys.argv[1])", "{cid}")
    good = ServerCommand((*STANDIN, *EAGLE, "--virtual-clock"), stop=stop)
    result = launch(command=good)
    assert result.outcome == "ok", result.message
    assert told.read_text() == result.marker
    assert result.cleanup.proven
    bad = launch(command=replace(good, stop=(sys.executable, "-c", "raise SystemExit('no such container')")))
    assert not bad.cleanup.proven
    assert "exited with 1: no such container" in bad.cleanup.note


def test_a_container_prefix_without_stop_command_is_not_provable(launch: Launcher, tmp_path: Path) -> None:
    docker = tmp_path / "docker"
    docker.write_text('#!/bin/sh\nshift\nexec "$@"\n')
    docker.chmod(0o755)
    around = ("env", "A=1", "B=2", "C=3", "D=4", str(docker), "run")
    result = launch(command=ServerCommand((*around, *STANDIN, *EAGLE, "--virtual-clock")))
    assert result.outcome == "ok", result.message
    assert not result.cleanup.proven
    assert "docker runs the server elsewhere" in result.cleanup.note


def test_a_killed_supervisor_takes_its_server_along(launch: Launcher) -> None:
    tree: list[Process] = []

    def kill(event: str, about: Any) -> None:
        if event == "block" and not tree:
            tree.extend(below_supervisor(launch))
            os.kill(launch.heard("started")[0]["pid"], signal.SIGKILL)

    plan = MeasurePlan((1,), 50, 8, 64)
    result = launch("--fault", "nameless", "--fault", "orphan", plan=plan, hear=kill)
    assert result.failure == "machine"
    assert "the supervisor was killed" in result.message
    assert not result.cleanup.proven
    assert len(tree) == 3
    assert not any(read_process(process.pid) == process for process in tree)


def test_a_full_disk_ends_the_launch_and_the_server(launch: Launcher) -> None:
    def full(event: str, about: Any) -> None:
        if event == "block":
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        launch(hear=full)
    assert launch.heard("stopped")[0]["proven"]
    assert PLAN.blocks


def below_supervisor(launch: Launcher) -> list[Process]:
    """The launch's processes, as the tree of parents shows them at this moment."""
    processes = all_processes()
    return [processes[pid] for pid in descendants(launch.heard("started")[0]["pid"], processes)]


def read_events(result: LaunchResult) -> dict[str, dict[str, Any]]:
    lines = (Path(result.folder) / "supervisor.jsonl").read_text().splitlines()
    return {event["event"]: event for event in map(json.loads, lines)}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def foreign_server(port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Another stand-in, which nobody but this test may end."""
    server = subprocess.Popen([*STANDIN, "--port", str(port)])
    try:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.02)
        yield server
    finally:
        server.kill()
        server.wait()


def test_a_well_server_that_breaks_off_every_first_generation_is_told_of_soon(launch: Launcher) -> None:
    begun = time.monotonic()
    result = launch("--fault", "break", limits=replace(LIMITS, startup_s=600, broken_s=0.5))
    assert time.monotonic() - begun < 20
    assert (result.outcome, result.failure) == ("failed", "crash")
    assert "the server broke off an answer but did not exit" in result.message
    assert "first generations in a row over" in result.message
    assert "while /health says that it is well" in result.message
    assert result.cleanup.proven


def test_a_well_server_that_fails_every_first_generation_is_told_of_soon(launch: Launcher) -> None:
    begun = time.monotonic()
    result = launch("--fault", "fail", limits=replace(LIMITS, startup_s=600, broken_s=0.5))
    assert time.monotonic() - begun < 20
    assert (result.outcome, result.failure) == ("failed", "output")
    assert "first generations in a row over" in result.message
    assert "HTTP 500" in result.message


@pytest.mark.parametrize("fault", ["break:0.6", "fail:0.6", "busy:1.5", "slow-start:1.5"])
def test_a_server_that_is_not_ready_for_its_first_generations_is_waited_for(
    launch: Launcher, fault: str
) -> None:
    result = launch("--fault", fault, limits=replace(LIMITS, broken_s=2.0 if "0.6" in fault else 0.3))
    assert (result.outcome, result.message) == ("ok", "")


@pytest.mark.parametrize(
    ("fault", "words"), [("break", "the connection broke"), ("busy", "HTTP 503"), ("no-port", "")]
)
def test_a_slow_start_tells_what_came_of_the_last_try(launch: Launcher, fault: str, words: str) -> None:
    result = launch("--fault", fault, limits=SHORT)
    assert result.failure == "startup"
    assert result.message.startswith("no answer within the start-up limit of 1.5 s")
    assert words in result.message
    assert ("of the last try" in result.message) == bool(words)
