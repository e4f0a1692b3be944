"""One study at a time on a GPU, whoever runs it; and GPUs that others use are waited for, not measured on."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.cli.main import run
from eaglecfg.engines.table import load_facts
from eaglecfg.errors import UsageError
from eaglecfg.tune import gpu as gpu_module
from eaglecfg.tune import study as study_module
from eaglecfg.tune.gpu import kept, occupied
from eaglecfg.tune.leases import Leases, NotHeld
from eaglecfg.tune.placement import gpus_of, visible_to
from eaglecfg.tune.trial import Limits, ServerCommand
from tests.tune.folder import Folder
from tests.tune.gpus import Machine, folder_with_gpus


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine().install(monkeypatch, tmp_path / "leases")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return folder_with_gpus(tmp_path / "study")


HOLD = """
import subprocess, sys, time
from pathlib import Path
from eaglecfg.tune.gpu import Gpu
from eaglecfg.tune.leases import Leases
leases = Leases("night", Path(sys.argv[1]))
leases.take([Gpu(0, "GPU-0a-bc", None, None)])
server = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3)"], close_fds=False)
print("held", flush=True)
time.sleep(60)
"""


def hold(leases: Path) -> subprocess.Popen[str]:
    """Another process that has leased GPU 0."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(leases)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    """Kill it; what it started lives on."""
    process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def test_a_leased_gpu_is_refused_with_its_holder_and_free_once_that_is_killed(
    machine: Machine, tmp_path: Path
) -> None:
    gpus, leases = machine.gpus(), Leases("day", tmp_path / "leases")
    other = hold(tmp_path / "leases")
    try:
        with pytest.raises(UsageError) as refused:
            leases.take(gpus)
        assert f"GPU 0 (GPU-0a-bc) is leased by the study night (pid {other.pid}, user " in str(refused.value)
        leases.take(gpus[1:])
        assert leases.held == ("GPU-1a-bc",)
    finally:
        end(other)
    leases.take(gpus)  # although a server that the other one had started still runs
    assert set(leases.held) == {"GPU-0a-bc", "GPU-1a-bc"}
    leases.release()
    Leases("third", tmp_path / "leases").take(gpus)


def test_a_lock_file_that_was_swept_away_locks_nothing(machine: Machine, tmp_path: Path) -> None:
    gpus = machine.gpus()[:1]
    first = Leases("day", tmp_path / "leases")
    first.take(gpus)
    path = tmp_path / "leases" / "GPU-0a-bc.lock"
    path.unlink()
    second = Leases("next", tmp_path / "leases")
    second.take(gpus)
    assert json.loads(path.read_text())["study"] == "next"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"pid": "x"}', '{"pid": 1, "since": 9e99, "study": 2}', "\0"]
)
def test_whatever_a_lock_file_says_the_lock_counts(machine: Machine, tmp_path: Path, text: str) -> None:
    (tmp_path / "leases").mkdir()
    path = tmp_path / "leases" / "GPU-0a-bc.lock"
    path.write_text(text)
    path.chmod(0o444)
    handle = os.open(path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with pytest.raises(UsageError, match=r"GPU 0 .* is leased by "):
        Leases("day", tmp_path / "leases").take(machine.gpus())
    os.close(handle)
    Leases("day", tmp_path / "leases").take(machine.gpus())


def test_links_and_odd_files_are_not_written_through(machine: Machine, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "leases").mkdir()
    path = tmp_path / "leases" / "GPU-0a-bc.lock"
    path.symlink_to(victim)
    with pytest.raises(NotHeld):
        Leases("day", tmp_path / "leases").take(machine.gpus())
    path.unlink()
    path.hardlink_to(victim)
    with pytest.raises(NotHeld):
        Leases("day", tmp_path / "leases").take(machine.gpus())
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(NotHeld):
        Leases("day", tmp_path / "leases").take(machine.gpus())
    assert victim.read_text() == "mine"
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "leases")
    with pytest.raises(NotHeld, match="is no folder"):
        Leases("day", link).take(machine.gpus())


def test_the_folder_and_its_files_are_for_all_users(machine: Machine, tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        Leases("day", tmp_path / "leases").take(machine.gpus())
    finally:
        os.umask(old)
    assert (tmp_path / "leases").stat().st_mode & 0o7777 == 0o1777
    assert (tmp_path / "leases" / "GPU-1a-bc.lock").stat().st_mode & 0o777 == 0o666


FACTS = load_facts("sglang", "0.5.14")


@pytest.mark.parametrize(
    ("words", "env", "expected"),
    [
        ("python -m sglang.launch_server", {}, [0]),
        ("python -m sglang.launch_server --tp 2", {}, [0, 1]),
        ("python -m sglang.launch_server --tp-size=2 --pp-size 2", {}, [0, 1, 2, 3]),
        ("python -m sglang.launch_server --tp-size 2 --dp-size 2", {}, [0, 1, 2, 3]),
        ("python -m sglang.launch_server --tp-size 2 --dp-size 2 --enable-dp-attention", {}, [0, 1]),
        ("python -m sglang.launch_server --tp-size 4 --nnodes 2", {}, [0, 1]),
        ("python -m sglang.launch_server --base-gpu-id 2 --tp 2", {}, [2, 3]),
        ("python -m sglang.launch_server --gpu-id-step 2 --tp 2", {}, [0, 2]),
        ("python -m sglang.launch_server --tp 1 --tp 2", {}, [0, 1]),
        ("python -m sglang.launch_server --tp 2", {"CUDA_VISIBLE_DEVICES": "3,1,0"}, [3, 1]),
        ("python -m sglang.launch_server", {"CUDA_VISIBLE_DEVICES": "GPU-2a"}, [2]),
        ("python -m sglang.launch_server", {"CUDA_VISIBLE_DEVICES": ""}, []),
        ("env CUDA_VISIBLE_DEVICES=2 python -m sglang.launch_server", {"CUDA_VISIBLE_DEVICES": "1"}, [2]),
        ("docker run --gpus all image --tp 2", {"CUDA_VISIBLE_DEVICES": "3"}, [0, 1]),
        ("docker run --gpus device=1,2 image --tp 2", {}, [1, 2]),
        ("docker run --gpus '\"device=1\"' image", {}, [1]),
        ("docker run -e CUDA_VISIBLE_DEVICES=3 image", {}, [3]),
        ("env A=1 B=2 C=3 D=4 docker run --gpus device=1 image", {"CUDA_VISIBLE_DEVICES": "3"}, [1]),
        ("sudo -n -E nice -n 5 docker run --gpus device=2 image", {}, [2]),
        ("python -m sglang.launch_server --tp 8", {}, [0, 1, 2, 3]),
        ("python -m sglang.launch_server --tp x --base-gpu-id -1", {}, [0]),
        ("python -m sglang.launch_server --device cpu", {}, []),
        ("srun -n 1 python -m sglang.launch_server", {}, []),
        ("env A=1 B=2 C=3 D=4 srun -n 1 python -m sglang.launch_server", {}, []),
        ("sh -c 'exec ssh host python -m sglang.launch_server $@' server", {}, []),
        ("python -m eaglecfg.tune.standin --tp 2", {}, []),
    ],
)
@pytest.mark.parametrize("known", [True, False], ids=["facts", "no-facts"])
def test_the_gpus_of_a_command_are_read_from_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: str,
    env: Mapping[str, str],
    expected: list[int],
    known: bool,
) -> None:
    Machine(4).install(monkeypatch, tmp_path)
    facts = FACTS if known else None
    for command, environ in (
        (ServerCommand(tuple(words.split()), env), {"CUDA_VISIBLE_DEVICES": "0"} if env else {}),
        (ServerCommand(tuple(words.split())), env),
    ):
        assert [gpu.index for gpu in gpus_of(command, facts, environ)] == expected


def test_without_nvml_there_is_nothing_to_lease_or_to_wait_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    command = ServerCommand(("python", "-m", "sglang.launch_server", "--tp", "2"))
    assert gpus_of(command, FACTS, {}) == ()
    assert occupied(()) == []
    assert visible_to(command, {}) is None


def test_who_uses_a_gpu_is_named(machine: Machine) -> None:
    gpus = machine.gpus()
    assert occupied(gpus) == []
    machine.held[1] = [(os.getpid(), 41234.4), (4194304, None)]
    name = Path("/proc/self/comm").read_text().strip()
    seen, unseen = f"{name} (pid {os.getpid()}) holds 41234 MiB", "a process out of sight (pid 4194304)"
    assert occupied(gpus) == [f"GPU 1: {seen}, {unseen} holds memory"]
    assert len(occupied(gpus, 41000)) == 1
    assert occupied(gpus, 42000) == []
    machine.held, machine.used = {}, {0: 9000.0}
    assert occupied(gpus) == ["GPU 0: 9000 MiB are held by processes that cannot be seen from here"]
    assert occupied(gpus, 9000) == []


def test_memory_that_others_took_meanwhile_is_not_ours_to_give_back(machine: Machine) -> None:
    gpus, before = machine.gpus(), {"GPU-0a-bc": 4.0, "GPU-1a-bc": 4.0}
    machine.held[0] = [(os.getpid(), 5000.0)]
    assert kept(gpus, before, 64.0) == []
    machine.held[0] = [(4194304, 5000.0)]  # nobody here has that pid: it may be ours, dead and not yet gone
    assert kept(gpus, before, 64.0) == ["GPU 0: 5000 MiB more than before the launch"]


def test_a_study_leases_its_gpus_and_frees_them_at_its_end(
    machine: Machine, folder: Folder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = hold(tmp_path / "leases")
    try:
        assert run(folder.arguments) == 2
        error = capsys.readouterr().err
        assert f"is leased by the study night (pid {other.pid}, user" in error
        assert folder.events == ()
    finally:
        end(other)
    assert run(folder.arguments) == 0
    command = json.loads(next(iter((folder.record / "launches").glob("*/command.json"))).read_text())
    assert command["gpus"] == [{"index": 0, "uuid": "GPU-0a-bc"}]
    Leases("next", tmp_path / "leases").take(machine.gpus())


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU in use is waited for a fifth of a second."""
    real = study_module.startup_limits

    def limits(*given: Any, **options: Any) -> Limits:
        from dataclasses import replace

        return replace(real(*given, **options), gpu_wait_s=0.2)

    monkeypatch.setattr(study_module, "startup_limits", limits)
    monkeypatch.setattr(gpu_module, "LOOK_S", 0.02)


@pytest.mark.usefixtures("soon")
def test_a_gpu_in_use_is_a_failure_of_the_machine_and_stops_the_study(
    machine: Machine, folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.held[0] = [(os.getpid(), 41234.0)]
    assert run(folder.arguments) == 1
    out, err = capsys.readouterr()
    assert f"(pid {os.getpid()}) holds 41234 MiB" in out
    assert "waiting up to" in out
    assert "3 launches in a row failed for reasons of the machine" in err
    assert [failure for *_, failure in folder.finished()] == ["machine"] * 3
    assert not [event for event in folder.events if event.kind == "running"]
    machine.held = {}
    assert run(folder.arguments) == 0
    assert [failure for *_, failure in folder.finished()][3:] == [""] * 4


@pytest.mark.usefixtures("soon")
def test_a_gpu_that_becomes_free_is_launched_on(
    machine: Machine, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.held[0] = [(os.getpid(), 41234.0)]
    monkeypatch.setattr(time, "sleep", lambda seconds: machine.held.clear())
    assert run(folder.arguments) == 0
    assert [failure for *_, failure in folder.finished()] == [""] * 4
