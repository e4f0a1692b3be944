"""Says which torch, NCCL and engine a Python would load, without importing any of them.

The source text of this file is handed to that Python, which may be older and has no eaglecfg. It prints one
line of JSON for each stage, so that what is known stands even where a later stage hangs.
"""

# The loader works with texts, and so does whoever imitates it.
# ruff: noqa: PTH100, PTH113, PTH117, PTH118, PTH119, PTH120, PTH207

from __future__ import annotations

import sys

if __name__ == "__main__":
    sys.path[:] = [entry for entry in sys.path if entry]  # ``-c`` puts the current folder first

import ctypes
import glob
import json
import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

SONAME = "libnccl.so.2"
PACKAGES = ("torch", "sglang", "nvidia-nccl-cu11", "nvidia-nccl-cu12", "nvidia-nccl-cu13")
LOAD, DYNAMIC = 1, 2
"""Kinds of program headers of an ELF file."""
NEEDED, STRINGS, RPATH, RUNPATH = 1, 5, 15, 29
"""Tags of its dynamic section."""


def main() -> None:
    """Tell it stage by stage."""
    say(stage="python", executable=sys.executable, version=".".join(map(str, sys.version_info[:3])))
    folder, engine = folder_of("torch"), folder_of("sglang")
    version, cuda = build_of(folder) if folder else ("", "")
    say(
        stage="packages",
        packages=packages(),
        torch={"folder": folder, "version": version, "cuda": cuda},
        engine={
            "folder": engine,
            "version": version_in(os.path.join(engine, "_version.py")) if engine else "",
        },
    )
    if folder and cuda:
        torch, others = loaded_by_torch(folder, cuda)
        say(stage="nccl", torch=torch, others=others)
        own = os.environ.get("SGLANG_NCCL_SO_PATH")
        if own:
            say(stage="engine nccl", engine=load(own, "SGLANG_NCCL_SO_PATH"))
    say(stage="driver", cuda=driver())


def say(**facts: Any) -> None:
    """One stage, at once."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def packages() -> dict[str, Any]:
    """What pip knows, by name: version, and what torch requires of NCCL."""
    from importlib import metadata

    found = {}
    for name in PACKAGES:
        try:
            one = metadata.distribution(name)
            requires = [line for line in one.requires or () if "nccl" in line]
            found[name] = {"version": one.version, "requires": requires}
        except Exception:
            continue
    return found


def folder_of(package: str) -> str:
    """Where an import would find the package; empty where nowhere."""
    for entry in sys.path:
        if os.path.isfile(os.path.join(entry, package, "__init__.py")):
            return os.path.join(os.path.abspath(entry), package)
    return ""


def text_of(path: str) -> str:
    """The text of a file, empty where it cannot be read."""
    try:
        with Path(path).open(encoding="utf-8", errors="replace") as stream:
            return stream.read(1 << 20)
    except OSError:
        return ""


def version_in(path: str) -> str:
    """The version that a package's own file assigns."""
    found = re.search(r"^__version__[^\n'\"]*=[^\n'\"]*['\"]([^'\"\n]+)", text_of(path), re.MULTILINE)
    return found.group(1) if found else ""


def build_of(folder: str) -> tuple[str, str]:
    """Version of torch and the CUDA that it was built for, empty where it was built for none."""
    path = os.path.join(folder, "version.py")
    cuda = re.search(r"^cuda\b[^\n=]*=\s*['\"]([^'\"\n]+)", text_of(path), re.MULTILINE)
    return version_in(path), cuda.group(1) if cuda else ""


def loaded_by_torch(folder: str, cuda: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The NCCL that importing torch loads, and those that it passes over."""
    chosen: dict[str, Any] = {}
    others: list[dict[str, Any]] = []
    try:
        for path, why in candidates(folder, cuda):
            if not chosen:
                chosen = load(path, why) if path else {"path": "", "why": why}
            elif os.path.isabs(path):
                others.append({"path": os.path.realpath(path), "why": why})
    except (OSError, ValueError, LookupError, StopIteration, RuntimeError, struct.error) as error:
        chosen = chosen or {"path": "", "why": "unread", "error": f"libtorch_cuda.so: {error}"}
    return chosen, others


def candidates(folder: str, cuda: str) -> Iterator[tuple[str, str]]:
    """(path, why) of each libnccl in the order in which importing torch comes to it; no path: linked in."""
    mapped = mapped_nccl()
    if mapped:
        yield mapped, "LD_PRELOAD"
    source = text_of(os.path.join(folder, "__init__.py"))
    if re.search(r"^\s+_preload_cuda_deps\((required=False)?\)", source, re.MULTILINE):
        # These torches load the first libnccl of sys.path by its full name, before the loader has a say.
        places = ("nvidia/nccl", f"nvidia/cu{cuda.partition('.')[0]}", "nccl")
        for entry in sys.path:
            for place in places:
                pattern = os.path.join(glob.escape(entry), place, "lib", "libnccl.so.*[0-9]")
                for path in sorted(glob.glob(pattern)):
                    yield path, "sys.path"
    needed, rpath, runpath = wants(os.path.join(folder, "lib", "libtorch_cuda.so"))
    if SONAME not in needed:
        yield "", "static"
        return
    given = [one for one in re.split("[:;]", os.environ.get("LD_LIBRARY_PATH", "")) if one]
    old = [] if runpath else rpath  # a RUNPATH switches the older RPATH off, and comes after the variable
    for group, why in ((old, "rpath"), (given, "LD_LIBRARY_PATH"), (runpath, "runpath")):
        for one in group:
            path = os.path.join(one, SONAME)
            if os.path.isfile(path):
                yield path, why
    yield SONAME, "system"


def mapped_nccl() -> str:
    """The libnccl that this process has mapped already, empty where none."""
    for line in text_of("/proc/self/maps").splitlines():
        slash = line.find("/")
        if slash > 0 and os.path.basename(line[slash:]).startswith("libnccl.so"):
            return line[slash:]
    return ""


def load(path: str, why: str) -> dict[str, Any]:
    """Load a libnccl and ask it for its version."""
    found: dict[str, Any] = {"path": os.path.realpath(path) if os.path.isabs(path) else path, "why": why}
    try:
        library = ctypes.CDLL(path)
        number = ctypes.c_int()
        library.ncclGetVersion(ctypes.byref(number))
    except (OSError, AttributeError) as error:
        return {**found, "error": str(error)}
    if not os.path.isabs(path):
        found["path"] = mapped_nccl() or path
    return {**found, "number": number.value}


def driver() -> int:
    """The CUDA version of the driver that this Python gets, 0 where there is none."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
        number = ctypes.c_int()
        return number.value if library.cuDriverGetVersion(ctypes.byref(number)) == 0 else 0
    except (OSError, AttributeError):
        return 0


def wants(path: str) -> tuple[list[str], list[str], list[str]]:
    """What a 64-bit ELF file asks of the loader: libraries, DT_RPATH and DT_RUNPATH.

    Raises OSError, ValueError, LookupError or struct.error where it is no such file.
    """
    with Path(path).open("rb") as stream:
        head = stream.read(64)
        if head[:5] != b"\x7fELF\x02" or len(head) < 64:
            raise ValueError("no 64-bit ELF file")
        order = "<" if head[5] == 1 else ">"
        table = struct.unpack_from(order + "Q", head, 32)[0]
        size, count = struct.unpack_from(order + "HH", head, 54)
        stream.seek(table)
        rows = [struct.unpack(order + "IIQQQQ", stream.read(size)[:40]) for _ in range(count)]
        loads = [(row[3], row[2], row[5]) for row in rows if row[0] == LOAD]
        _, _, offset, _, _, length = next(row for row in rows if row[0] == DYNAMIC)
        stream.seek(offset)
        entries = list(struct.iter_unpack(order + "qQ", stream.read(min(length, 1 << 20) // 16 * 16)))
        address = next(value for tag, value in entries if tag == STRINGS)
        strings = next(start + address - at for at, start, long in loads if at <= address < at + long)
        texts = {
            tag: [_text(stream, strings + value) for kind, value in entries if kind == tag]
            for tag in (NEEDED, RPATH, RUNPATH)
        }
    origin = os.path.dirname(os.path.abspath(path))
    return texts[NEEDED], _folders(texts[RPATH], origin), _folders(texts[RUNPATH], origin)


def _text(stream: BinaryIO, offset: int) -> str:
    stream.seek(offset)
    return stream.read(65536).partition(b"\0")[0].decode("utf-8", "replace")


def _folders(texts: list[str], origin: str) -> list[str]:
    words = [one for text in texts for one in text.split(":") if one]
    return [os.path.normpath(re.sub(r"\$ORIGIN|\$\{ORIGIN\}", lambda _: origin, one)) for one in words]


if __name__ == "__main__":
    main()
