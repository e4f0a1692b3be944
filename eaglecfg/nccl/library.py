"""Compares the facts with the strings of an installed libnccl. Needs no GPU and loads no library."""

from __future__ import annotations

import re
import struct
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from eaglecfg.errors import UsageError
from eaglecfg.nccl.facts import library_strings, variable_fact, variable_names
from eaglecfg.schema_files import read_schema

_NAME = re.compile(rb"(NCCL_[A-Z0-9][A-Z0-9_]{1,60})\x00")
_WORD_BEFORE = re.compile(rb"[A-Za-z0-9,.:;=(] \Z")
_VERSION = re.compile(rb"NCCL version ([0-9]+\.[0-9]+\.[0-9]+)")
_FILE = re.compile(r"(^|/)libnccl\.so(\.[0-9]+)*$")

CHUNK = 16 << 20
ELF = b"\x7fELF"
LOADED = 1
"""The kind of program header that says what is mapped."""
OVERLAP = 128
"""Bytes of the chunk before that are looked at again: more than any name or version takes."""

SHIPPED = ("libnccl.so.2", "lib/libnccl.so.2", "nccl/lib/libnccl.so.2", "nvidia/nccl/lib/libnccl.so.2")
"""Where the library lies below a folder that a user may name: its own, a package's, site-packages."""

ASK = (
    "import importlib.util, os\n"
    "found = importlib.util.find_spec('nvidia.nccl')\n"
    "print(*(os.path.join(each, 'lib', 'libnccl.so.2') for each in found.submodule_search_locations))\n"
)
PATIENCE_S = 60.0
"""Seconds for a Python to start and to find a package, on the slowest of disks."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """``version`` as the library's own strings say it, empty where they do not. ``unknown``: names in the
    library that the facts lack. ``missing``: variables that this version should read and whose name the
    library lacks; ``early``: variables that it should not read yet, or any more, and whose name it holds.
    ``found`` counts the names in the library that the facts know."""

    version: str
    unknown: tuple[str, ...]
    missing: tuple[str, ...]
    early: tuple[str, ...]
    found: int = 0

    @property
    def agrees(self) -> bool:
        """Whether there is no difference."""
        return not (self.unknown or self.missing or self.early)


def compare_stream(stream: IO[bytes], version: str = "") -> Comparison:
    """Names in the bytes of a ``libnccl.so.2`` against the facts.

    ``version`` overrides what the library says about itself. A name counts as present where it ends a string
    of what the loader maps, since some are preceded by other bytes.
    """
    found, said = _names(stream)
    version = version or said
    known = frozenset(variable_names())
    missing: list[str] = []
    early: list[str] = []
    for name in variable_names():
        fact = variable_fact(name)
        assert fact is not None
        standing = fact.standing(version) if version else "open"
        if standing == "there" and name not in found:
            missing.append(name)
        if standing in ("not yet", "gone") and name in found:
            early.append(name)
    unknown = sorted(found - known - library_strings())
    return Comparison(version, tuple(unknown), tuple(missing), tuple(early), len(found & known))


@contextmanager
def opened_library(path: Path) -> Iterator[tuple[IO[bytes], str]]:
    """(the bytes of the library that ``path`` means, how to call it): a libnccl itself, a wheel that holds
    one, or a folder with one below it. Raises UsageError where there is none, OSError where it cannot be
    read."""
    if path.is_dir():
        path = _below(path)
    elif not path.is_file():
        raise UsageError(f"there is no file {path}; name a libnccl.so.2, a wheel of it, or its folder")
    if path.suffix != ".whl":
        with path.open("rb") as stream:
            yield stream, str(path)
        return
    try:
        with zipfile.ZipFile(path) as wheel:
            inside = [name for name in wheel.namelist() if _FILE.search(name)]
            if not inside:
                raise UsageError(f"{path} holds no libnccl.so; name a wheel of nvidia-nccl")
            with wheel.open(inside[0]) as member:
                yield member, f"{path}, {inside[0]}"
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
        raise UsageError(f"{path} cannot be read as a wheel: {error}") from error


def library_of(python: str) -> Path:
    """The libnccl that torch loads under the interpreter ``python``: that of its nvidia-nccl package.

    Raises UsageError where the interpreter cannot be run or has no such package.
    """
    try:
        done = subprocess.run(
            [python, "-c", ASK],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE_S,
            check=False,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"--python {python} cannot be run: {reason.lower()}") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"--python {python} did not answer within {PATIENCE_S:.0f} s") from None
    for place in done.stdout.split("\n")[0].split(" ") if done.returncode == 0 else ():
        if place and Path(place).is_file():
            return Path(place)
    raise UsageError(
        f"--python {python} has no nvidia-nccl package with a libnccl.so.2; name the library itself"
    )


def _below(folder: Path) -> Path:
    for place in SHIPPED:
        if (folder / place).is_file():
            return folder / place
    raise UsageError(f"{folder} holds none of {', '.join(SHIPPED)}; name the library itself")


def _names(stream: IO[bytes]) -> tuple[frozenset[str], str]:
    """(names that the library may ask the environment for, the version that the strings say).

    Such a name is a whole string in what the loader maps: names of C, which debug information has as well,
    are not, and neither is a name in the middle or at the end of a sentence.
    """
    found: set[bytes] = set()
    said, rest, at = "", b"", 0
    mapped: tuple[range, ...] | None = None
    while chunk := stream.read(CHUNK):
        content = rest + chunk
        if mapped is None:
            mapped = _mapped(content)
        for one in _NAME.finditer(content):
            place = at + one.start()
            if at and one.start() < 2:
                continue  # seen with what is before it, at the end of the chunk before
            if (not mapped or any(place in part for part in mapped)) and not _in_a_sentence(
                content, one.start()
            ):
                found.add(one[1])
        version = _VERSION.search(content)
        if version is not None and not said and version.end() < len(content):
            said = version[1].decode()
        rest = content[-OVERLAP:]
        at += len(content) - len(rest)
    return frozenset(name.decode() for name in found), said


def facts_of() -> tuple[str, ...]:
    """The versions of NCCL whose libraries the facts were read in, the oldest first."""
    return tuple(read_schema("nccl", "variables.json")["libraries"])


def is_library(stream: IO[bytes]) -> bool:
    """Whether ``stream`` begins as a shared library does; it is at its beginning again afterwards."""
    head = stream.read(len(ELF))
    stream.seek(0)
    return head == ELF


def _in_a_sentence(content: bytes, place: int) -> bool:
    """Whether a word stands before: data that happens to be before a name is no letter and a blank."""
    return bool(_WORD_BEFORE.search(content, max(0, place - 2), place))


def _mapped(head: bytes) -> tuple[range, ...]:
    """The parts of a 64-bit little-endian ELF file that the loader maps; empty where its head tells none."""
    if len(head) < 64 or head[:6] != ELF + b"\x02\x01":
        return ()
    (start,), (size, count) = struct.unpack_from("<Q", head, 32), struct.unpack_from("<HH", head, 54)
    out = []
    for number in range(count):
        place = start + number * size
        if size < 56 or place + 56 > len(head):
            return ()
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", head, place)
        if kind == LOADED:
            out.append(range(offset, offset + length))
    return tuple(out)
