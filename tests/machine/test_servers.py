"""Servers that run, and ports that are taken: from a tree of files, and once from the kernel itself."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from eaglecfg.machine.gpus import Gpu, Holder, read_gpus
from eaglecfg.machine.places import Places
from eaglecfg.machine.processes import MARKER_VARIABLE
from eaglecfg.machine.servers import find_servers, is_server, look_at_ports
from eaglecfg.record import replace
from tests.machine.library import h200, nvml


class Proc:
    """A /proc of real files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        (root / "stat").write_text("cpu 1\nbtime 1700000000\n")

    def process(
        self, pid: int, parent: int, *arguments: str, name: str = "python", env: str = "", state: str = "S"
    ) -> None:
        folder = self.root / str(pid)
        (folder / "fd").mkdir(parents=True)
        rest = " ".join(["0"] * 15)
        (folder / "stat").write_text(f"{pid} ({name}) {state} {parent} {pid} {pid} {rest} {pid * 100} 0 0\n")
        (folder / "cmdline").write_bytes(b"".join(word.encode() + b"\0" for word in arguments))
        (folder / "environ").write_bytes(env.encode())

    def listen(self, port: int, inode: int, pid: int | None = None) -> None:
        (self.root / "net").mkdir(exist_ok=True)
        table = self.root / "net/tcp"
        head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
        text = table.read_text() if table.exists() else head
        table.write_text(
            f"{text}   0: 00000000:{port:04X} 00000000:0000 0A 00000000:00000000 00:00000000 00000000 "
            f" 0  0 {inode} 1\n"
        )
        if pid is not None:
            (self.root / str(pid) / "fd/3").symlink_to(f"socket:[{inode}]")


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    return Proc(tmp_path / "proc")


def gpus_held(*held: Holder) -> tuple[Gpu, ...]:
    gpu = read_gpus(nvml(h200(1)), None, Places())[0]
    return (replace(gpu, processes=held),)


def test_a_server_is_one_with_all_that_it_started(proc: Proc) -> None:
    proc.process(1, 0, "/sbin/init", name="init")
    proc.process(10, 1, "python3", "-m", "sglang.launch_server", "--api-key", "topsecret", "--port", "30000")
    proc.process(11, 10, "sglang::scheduler_TP0", name="sglang::schedul")
    proc.process(12, 11, "sglang::detokenizer", name="sglang::detoken")
    proc.process(13, 1, "vim", "sglang/notes.txt", name="vim")
    found = find_servers(proc.root, gpus_held(Holder(11, 3 << 30, ""), Holder(99, 1 << 30, "")), 1)
    assert [server.pid for server in found] == [10]
    server = found[0]
    assert server.processes == (10, 11, 12)
    assert server.gpu_bytes == 3 << 30
    assert "topsecret" not in server.command
    assert "--port 30000" in server.command
    assert server.started == 1700000000 + 1000 / os.sysconf("SC_CLK_TCK")


def test_workers_whose_server_died_are_found_by_their_titles(proc: Proc) -> None:
    proc.process(1, 0, "init", name="init")
    proc.process(20, 1, "sglang::scheduler_TP0", name="sglang::schedul")
    proc.process(21, 1, "sglang::scheduler_TP1", name="sglang::schedul", state="Z")
    assert [server.pid for server in find_servers(proc.root, (), 1)] == [20]


def test_launches_of_tune_are_known_by_their_marker_and_by_their_supervisor(proc: Proc) -> None:
    marker = f"PATH=/bin\0{MARKER_VARIABLE}=m-1\0"
    proc.process(1, 0, "init", name="init")
    proc.process(30, 1, "python3", "-m", "eaglecfg.tune.supervise")
    proc.process(31, 30, "docker", "run", "x", env=marker, name="docker")
    proc.process(40, 1, "anything", env=marker.replace("m-1", "m-2"))
    found = {server.pid: server for server in find_servers(proc.root, (), 1)}
    assert {pid: (server.marker, server.supervised) for pid, server in found.items()} == {
        31: ("m-1", True),
        40: ("m-2", False),
    }


def test_the_look_itself_and_its_ancestors_are_no_server(proc: Proc) -> None:
    proc.process(1, 0, "init", name="init")
    proc.process(50, 1, "sh", "-c", "x", "sglang.launch_server")
    proc.process(51, 50, "eaglecfg", "doctor")
    assert find_servers(proc.root, (), 51) == ()


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("python", ("python", "-m", "sglang.launch_server"), True),
        ("python", ("python", "-u", "/x/sglang/launch_server.py"), True),
        ("sglang", ("/venv/bin/sglang", "serve", "--model-path", "x"), True),
        ("python", ("/venv/bin/python", "/venv/bin/sglang", "serve"), True),
        ("sglang::schedul", (), True),
        ("grep", ("grep", "sglang.launch_server_x"), False),
        ("sglang", ("/venv/bin/sglang", "version"), False),
        ("kworker", (), False),
        ("bash", ("bash", "sglang"), False),
    ],
)
def test_servers_are_told_from_what_only_speaks_of_them(
    name: str, arguments: tuple[str, ...], expected: bool
) -> None:
    assert is_server(name, arguments) is expected


def test_an_unreadable_or_strange_proc_has_no_servers(tmp_path: Path, proc: Proc) -> None:
    assert find_servers(tmp_path / "nowhere", (), 1) == ()
    (proc.root / "7").mkdir()
    (proc.root / "7/stat").write_text("7 (x y) S\n")
    (proc.root / "8").mkdir()
    assert find_servers(proc.root, (), 1) == ()


def test_taken_ports_are_named_with_who_has_them(proc: Proc) -> None:
    proc.process(1, 0, "init", name="init")
    proc.process(60, 1, "python3", "-m", "http.server", "30000")
    proc.listen(30000, 555, 60)
    proc.listen(40000, 556)
    proc.listen(12345, 557)
    ports = look_at_ports(proc.root, 30000, 12000, 21999)
    assert ports is not None
    assert [(taken.port, taken.pid) for taken in ports.taken] == [(30000, 60), (40000, None)]
    assert ports.taken[0].command == "python3 -m http.server 30000"
    assert ports.range_listening == 1


def test_a_hidden_table_of_sockets_is_no_answer(proc: Proc) -> None:
    assert look_at_ports(proc.root, 30000, 12000, 21999) is None
    (proc.root / "net").mkdir()
    (proc.root / "net/tcp").write_text("")
    assert look_at_ports(proc.root, 30000, 12000, 21999) is None


def test_a_real_server_and_its_port_are_seen_by_the_kernels_own_files() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1)
        port = listening.getsockname()[1]
        code = "import time; print(flush=True); time.sleep(60)"
        command = [sys.executable, "-c", code, "sglang.launch_server"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
            try:
                assert server.stdout is not None
                server.stdout.readline()
                found = [
                    each for each in find_servers(Path("/proc"), (), os.getpid()) if each.pid == server.pid
                ]
                assert len(found) == 1
                assert found[0].started is not None
                assert abs(found[0].started - time.time()) < 60
                ports = look_at_ports(Path("/proc"), port, 12000, 21999)
            finally:
                server.kill()
    if ports is not None:  # some sandboxes hide the table
        assert ports.taken[0].port == port
        assert ports.taken[0].pid == os.getpid()
