"""Which torch, NCCL and engine a Python would load, asked of small real trees."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from eaglecfg.errors import UsageError
from eaglecfg.machine import python_child
from eaglecfg.machine.python import ServingPython, ask_python, cuda_version, nccl_version

COMPILER = shutil.which("cc") or shutil.which("gcc")
compiled = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler for a library to load")


def write_elf(path: Path, needed: list[str], *, rpath: str = "", runpath: str = "") -> None:
    """A 64-bit ELF file that has nothing but a dynamic section."""
    strings = b"\0"
    entries: list[tuple[int, int]] = []
    for tag, text in [*((1, name) for name in needed), (15, rpath), (29, runpath)]:
        if text:
            entries.append((tag, len(strings)))
            strings += text.encode() + b"\0"
    start = 64 + 2 * 56
    size = 16 * (len(entries) + 2)
    entries += [(5, start + size), (0, 0)]
    dynamic = b"".join(struct.pack("<qQ", *entry) for entry in entries)
    whole = start + len(dynamic) + len(strings)
    head = struct.pack(
        "<4sBBBB8xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 0, 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0
    )
    load = struct.pack("<IIQQQQQQ", 1, 4, 0, 0, 0, whole, whole, 4096)
    part = struct.pack("<IIQQQQQQ", 2, 4, start, start, start, len(dynamic), len(dynamic), 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(head + load + part + dynamic + strings)


def write_torch(
    site: Path,
    *,
    version: str = "2.11.0+cu130",
    cuda: str | None = "13.0",
    preloads: bool = False,
    requires: str = "2.28.9",
    rpath: str = "$ORIGIN/../../nvidia/nccl/lib",
    runpath: str = "",
    needed: tuple[str, ...] = ("libc.so.6", "libnccl.so.2"),
) -> None:
    """What of an installed torch tells which NCCL it loads."""
    folder = site / "torch"
    folder.mkdir(parents=True)
    call = "            _preload_cuda_deps(required=False)\n" if preloads else ""
    (folder / "__init__.py").write_text(f"def _load_global_deps():\n    if True:\n        if True:\n{call}")
    (folder / "version.py").write_text(
        f"from typing import Optional\n__all__ = ['__version__', 'cuda']\n__version__ = '{version}'\n"
        f"cuda: Optional[str] = {cuda!r}\ngit_version = 'x'\n"
    )
    write_elf(folder / "lib/libtorch_cuda.so", list(needed), rpath=rpath, runpath=runpath)
    info = site / f"torch-{version.partition('+')[0]}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n"
        f'Requires-Dist: nvidia-nccl-cu13=={requires}; platform_system == "Linux"\n'
    )


def write_package(site: Path, name: str, version: str) -> None:
    """What pip leaves of a package."""
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def write_nccl(folder: Path, number: int) -> Path:
    """A real libnccl.so.2 that knows its version and nothing else."""
    assert COMPILER is not None
    folder.mkdir(parents=True, exist_ok=True)
    source, library = folder / "n.c", folder / "libnccl.so.2"
    source.write_text(f"int ncclGetVersion(int *v) {{ *v = {number}; return 0; }}\n")
    subprocess.run(
        [COMPILER, "-shared", "-fPIC", "-Wl,-soname,libnccl.so.2", "-o", library, source],
        check=True,
        timeout=60,
    )
    source.unlink()
    return library


def ask(site: Path, **environ: str) -> ServingPython:
    return ask_python(sys.executable, {"PYTHONPATH": str(site), "PATH": "", **environ}, 20)


def test_torch_nccl_package_and_engine_are_told_without_importing_them(tmp_path: Path) -> None:
    write_torch(tmp_path)
    (tmp_path / "torch/__init__.py").write_text("raise SystemExit('torch was imported')\n")
    write_package(tmp_path, "nvidia-nccl-cu13", "2.28.9")
    engine = tmp_path / "sglang"
    engine.mkdir()
    (engine / "__init__.py").write_text("raise SystemExit('the engine was imported')\n")
    (engine / "_version.py").write_text("version: str\n__version__: str\n__version__ = version = '0.5.14'\n")
    found = ask(tmp_path)
    assert found.trouble == ""
    assert (found.torch, found.torch_cuda, found.nccl_required) == ("2.11.0+cu130", "13.0", "2.28.9")
    assert found.nccl_packages["nvidia-nccl-cu13"] == "2.28.9"
    assert (found.sglang, found.sglang_folder) == ("0.5.14", str(engine))
    assert found.version == ".".join(map(str, sys.version_info[:3]))


def test_an_engine_that_only_pip_knows_has_a_version(tmp_path: Path) -> None:
    write_package(tmp_path, "sglang", "0.5.9")
    assert ask(tmp_path).sglang == "0.5.9"


@compiled
def test_the_library_inside_torchs_path_wins_over_the_variable(tmp_path: Path) -> None:
    write_torch(tmp_path / "site")
    own = write_nccl(tmp_path / "site/nvidia/nccl/lib", 22809)
    other = write_nccl(tmp_path / "other", 22700)
    found = ask(tmp_path / "site", LD_LIBRARY_PATH=str(other.parent))
    assert found.nccl_torch is not None
    assert (found.nccl_torch.version, found.nccl_torch.why, found.nccl_torch.path) == (
        "2.28.9",
        "rpath",
        str(own),
    )
    assert [(each.path, each.why) for each in found.nccl_passed_over] == [(str(other), "LD_LIBRARY_PATH")]


@compiled
def test_the_variable_wins_over_a_runpath(tmp_path: Path) -> None:
    write_torch(tmp_path / "site", rpath="", runpath="$ORIGIN/../../nvidia/nccl/lib")
    write_nccl(tmp_path / "site/nvidia/nccl/lib", 22809)
    other = write_nccl(tmp_path / "other", 22700)
    found = ask(tmp_path / "site", LD_LIBRARY_PATH=f"/nowhere:{other.parent}")
    assert found.nccl_torch is not None
    assert (found.nccl_torch.version, found.nccl_torch.why) == ("2.27.0", "LD_LIBRARY_PATH")


@compiled
def test_a_preloaded_library_wins_over_everything(tmp_path: Path) -> None:
    write_torch(tmp_path / "site", preloads=True)
    write_nccl(tmp_path / "site/nvidia/nccl/lib", 22809)
    other = write_nccl(tmp_path / "other", 21805)
    found = ask(tmp_path / "site", LD_PRELOAD=str(other))
    assert found.nccl_torch is not None
    assert (found.nccl_torch.version, found.nccl_torch.why) == ("2.18.5", "LD_PRELOAD")


@compiled
def test_torch_that_preloads_takes_the_first_of_sys_path(tmp_path: Path) -> None:
    write_torch(tmp_path / "site", preloads=True)
    write_nccl(tmp_path / "site/nvidia/nccl/lib", 22809)
    write_nccl(tmp_path / "first/nvidia/nccl/lib", 23007)
    path = os.pathsep.join((str(tmp_path / "first"), str(tmp_path / "site")))
    found = ask_python(sys.executable, {"PYTHONPATH": path}, 20)
    assert found.nccl_torch is not None
    assert (found.nccl_torch.version, found.nccl_torch.why) == ("2.30.7", "sys.path")


@compiled
def test_the_engines_own_library_is_a_second_one(tmp_path: Path) -> None:
    write_torch(tmp_path / "site")
    write_nccl(tmp_path / "site/nvidia/nccl/lib", 22809)
    other = write_nccl(tmp_path / "other", 23007)
    found = ask(tmp_path / "site", SGLANG_NCCL_SO_PATH=str(other))
    assert found.nccl_torch is not None
    assert found.nccl_engine is not None
    assert (found.nccl_torch.version, found.nccl_engine.version) == ("2.28.9", "2.30.7")


def test_a_library_that_does_not_load_is_told_with_the_reason(tmp_path: Path) -> None:
    write_torch(tmp_path)
    library = tmp_path / "nvidia/nccl/lib/libnccl.so.2"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"not a library")
    found = ask(tmp_path, SGLANG_NCCL_SO_PATH="/nowhere/libnccl.so")
    assert found.nccl_torch is not None
    assert found.nccl_engine is not None
    assert "libnccl.so.2" in found.nccl_torch.error
    assert "/nowhere/libnccl.so" in found.nccl_engine.error


def test_nccl_that_is_linked_in_and_torch_that_cannot_be_read_are_told_apart(tmp_path: Path) -> None:
    write_torch(tmp_path / "a", needed=("libc.so.6",))
    static = ask(tmp_path / "a").nccl_torch
    assert static is not None
    assert (static.why, static.path, static.error) == ("static", "", "")
    write_torch(tmp_path / "b")
    (tmp_path / "b/torch/lib/libtorch_cuda.so").write_bytes(b"\x7fELF\x02\x01" + b"\xff" * 58)
    broken = ask(tmp_path / "b").nccl_torch
    assert broken is not None
    assert broken.why == "unread"
    (tmp_path / "b/torch/lib/libtorch_cuda.so").unlink()
    gone = ask(tmp_path / "b")
    assert gone.trouble == ""
    assert gone.nccl_torch is not None
    assert "No such file" in gone.nccl_torch.error


def test_a_torch_without_cuda_loads_no_nccl(tmp_path: Path) -> None:
    write_torch(tmp_path, version="2.11.0+cpu", cuda=None)
    found = ask(tmp_path)
    assert (found.torch, found.torch_cuda, found.nccl_torch) == ("2.11.0+cpu", "", None)


def test_the_current_folder_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('a file of the current folder was run')\n")
    monkeypatch.chdir(tmp_path)
    assert ask(tmp_path / "nowhere").trouble == ""


def script(folder: Path, text: str) -> str:
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_a_python_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    # What is known by then stands: the first line is the first stage.
    first = json.dumps({"stage": "python", "executable": "/x/python", "version": "3.12.3"})
    python = script(tmp_path, f"echo '{first}'\nsleep 60 &\necho $! > {tmp_path}/pid\nwait")
    begun = time.monotonic()
    found = ask_python(python, dict(os.environ), 0.5)
    assert time.monotonic() - begun < 5
    assert (found.version, found.trouble) == ("3.12.3", "no whole answer within 0.5 s")
    pid = (tmp_path / "pid").read_text().strip()
    deadline = time.monotonic() + 5
    while Path(f"/proc/{pid}").exists() and _state(pid) not in "ZX" and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{pid}").exists() or _state(pid) in "ZX"


def _state(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ("exit 0", "it printed no answer"),
        ("cat", "it printed no answer"),
        ("echo '{}'", "it printed no answer"),
        ("echo hello; echo '[]'; echo '{\"stage\": []}'; exit 0", "it printed no answer"),
        ('echo \'{"stage": "python"}\'', "it printed no answer"),
        ("echo 'no such module' >&2; exit 3", "it ended with exit code 3: no such module"),
        ("kill -9 $$", "it ended with signal 9"),
        ("head -c 3000000 /dev/zero", "it printed no answer"),
        ("exec sleep 60", "no whole answer within 0.3 s"),
    ],
)
def test_what_does_not_answer_as_a_python_is_a_usage_error(tmp_path: Path, text: str, trouble: str) -> None:
    python = script(tmp_path, text)
    with pytest.raises(UsageError) as refused:
        ask_python(python, dict(os.environ), 0.3 if "within" in trouble else 20)
    longer = ", or wait longer with --time-limit" if "within" in trouble else ""
    assert str(refused.value) == (
        f"--python {python} does not answer as a Python would ({trouble}); "
        f"name the Python that runs the server{longer}"
    )


@pytest.mark.parametrize(
    "stages",
    [
        {"packages": {"packages": []}},
        {"packages": {"torch": 1}},
        {"packages": {"packages": {"nvidia-nccl-cu13": None}}},
        {"nccl": {"torch": {"path": "x"}}},
        {"nccl": {"others": 1}},
        {"driver": {"cuda": "13"}},
    ],
)
def test_an_answer_of_another_form_is_a_usage_error(tmp_path: Path, stages: dict[str, object]) -> None:
    lines = [{"stage": "python", "version": "3.12.3"}]
    lines += [{"stage": name, **about} for name, about in stages.items()]  # type: ignore[dict-item]
    text = "\n".join(f"echo '{json.dumps(each)}'" for each in lines)
    with pytest.raises(UsageError, match="answers with something else than was asked"):
        ask_python(script(tmp_path, text), dict(os.environ), 20)


def test_a_python_that_fails_later_has_trouble_and_what_it_told_before(tmp_path: Path) -> None:
    first = json.dumps({"stage": "python", "executable": "/x/python", "version": "3.12.3"})
    found = ask_python(script(tmp_path, f"echo '{first}'\necho broken >&2\nexit 3"), dict(os.environ), 20)
    assert (found.version, found.trouble) == ("3.12.3", "it ended with exit code 3: broken")


@pytest.mark.parametrize("python", ["/nowhere/python", "nowhere-python", "/", "", "a\0b"])
def test_a_python_that_cannot_be_started_is_a_usage_error(python: str) -> None:
    with pytest.raises(UsageError, match=r"--python .* cannot be started"):
        ask_python(python, {"PATH": ""}, 1)


@pytest.mark.parametrize(
    ("number", "text"), [(23007, "2.30.7"), (22809, "2.28.9"), (2804, "2.8.4"), (21805, "2.18.5"), (0, "")]
)
def test_nccls_number_is_a_version(number: int, text: str) -> None:
    assert nccl_version(number) == text


def test_cudas_number_is_a_version() -> None:
    assert [cuda_version(number) for number in (13000, 12080, 0)] == ["13.0", "12.8", ""]


def test_the_loader_s_wishes_are_read_out_of_a_library(tmp_path: Path) -> None:
    path = tmp_path / "lib/libx.so"
    write_elf(path, ["liba.so.1", "libb.so"], rpath="$ORIGIN/../a:${ORIGIN}", runpath="/b")
    assert python_child.wants(str(path)) == (
        ["liba.so.1", "libb.so"],
        [str(tmp_path / "a"), str(tmp_path / "lib")],
        ["/b"],
    )
