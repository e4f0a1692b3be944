"""The Python that will serve: its torch, the NCCL that torch and the engine load, the engine's version."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from eaglecfg.errors import UsageError
from eaglecfg.record import record

MOST_ANSWER = 1 << 20
MOST_NOISE = 4096
"""Bytes that are read back of the answer, and of what was printed beside it."""


@record
class Library:
    """A libnccl.

    ``why``: how the loader comes to it (``LD_PRELOAD``, ``sys.path``, ``rpath``, ``LD_LIBRARY_PATH``,
    ``runpath``, ``system``, ``SGLANG_NCCL_SO_PATH``; ``static``: it is part of torch's own library;
    ``unread``: torch's library could not be read). ``version`` is empty where it was not told, and ``error``
    says why.
    """

    path: str
    why: str
    version: str = ""
    error: str = ""


@record
class ServingPython:
    """What one Python would load. Texts are empty where there is no such thing.

    ``torch_cuda``: the CUDA that torch was built for. ``nccl_required``: the version that torch's own
    metadata ask for. ``nccl_packages``: NCCL packages that pip knows, by name. ``nccl_torch``: what importing
    torch loads; ``nccl_engine``: what SGLang loads for its own collectives, where SGLANG_NCCL_SO_PATH names a
    file. ``nccl_passed_over``: others that the loader would have come to. ``cuda_driver``: the newest CUDA of
    the driver's library that this Python gets. ``trouble``: why the answer is not whole.
    """

    executable: str
    version: str = ""
    torch: str = ""
    torch_folder: str = ""
    torch_cuda: str = ""
    nccl_required: str = ""
    nccl_packages: Mapping[str, str] = field(default_factory=dict)
    nccl_torch: Library | None = None
    nccl_engine: Library | None = None
    nccl_passed_over: tuple[Library, ...] = ()
    sglang: str = ""
    sglang_folder: str = ""
    cuda_driver: str = ""
    trouble: str = ""


def ask_python(python: str, environ: Mapping[str, str], limit_s: float) -> ServingPython:
    """Ask ``python`` in a process of its own, which is ended after ``limit_s`` seconds.

    Raises UsageError where it cannot be started, or shows in no way that it is a Python: what was asked is
    not seen then, and nothing can be said about what it would load. One that fails later has ``trouble``.
    """
    script = Path(__file__).with_name("python_child.py").read_text(encoding="utf-8")
    # Files, not pipes: a Python that prints without end fills no memory of ours, and blocks nobody.
    with TemporaryFile() as answer, TemporaryFile() as noise:
        try:
            child = subprocess.Popen(
                [python, "-c", script],
                stdin=subprocess.DEVNULL,
                stdout=answer,
                stderr=noise,
                env=dict(environ),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise UsageError(
                f"--python {python} cannot be started ({reason}); name the Python that runs the server"
            ) from error
        trouble, late = "", False
        try:
            code = child.wait(limit_s)
            trouble = _ended(code, noise) if code else ""
        except subprocess.TimeoutExpired:
            trouble, late = f"no whole answer within {limit_s:g} s", True
        finally:
            _end(child)
        stages = _stages(answer)
    if not stages.get("python", {}).get("version"):
        longer = ", or wait longer with --time-limit" if late else ""
        raise UsageError(
            f"--python {python} does not answer as a Python would ({trouble or 'it printed no answer'}); "
            f"name the Python that runs the server{longer}"
        )
    try:
        return _gathered(python, stages, trouble)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise UsageError(
            f"--python {python} answers with something else than was asked; "
            f"name the Python that runs the server"
        ) from None


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the child and whatever it has started: all of it is in the child's own session."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _ended(code: int, noise: IO[bytes]) -> str:
    size = noise.seek(0, os.SEEK_END)
    noise.seek(max(0, size - MOST_NOISE))
    lines = noise.read(MOST_NOISE).decode(errors="replace").strip().splitlines()
    last = f": {lines[-1].strip()[:200]}" if lines else ""
    return f"it ended with {f'signal {-code}' if code < 0 else f'exit code {code}'}{last}"


def _stages(answer: IO[bytes]) -> dict[str, Any]:
    answer.seek(0)
    stages: dict[str, Any] = {}
    for line in answer.read(MOST_ANSWER).splitlines():
        with suppress(ValueError, TypeError, KeyError, RecursionError):  # a site hook may print as well
            stage = json.loads(line)
            stages[str(stage["stage"])] = stage
    return stages


def _gathered(python: str, stages: Mapping[str, Any], trouble: str) -> ServingPython:
    found, known = stages.get("packages", {}), stages.get("packages", {}).get("packages", {})
    torch, engine = found.get("torch", {}), found.get("engine", {})
    nccl = stages.get("nccl", {})
    first = stages["python"]
    loaded = _library(nccl.get("torch"))
    passed = tuple(each for each in map(_library, nccl.get("others", ())) if each is not None)
    return ServingPython(
        executable=str(first.get("executable") or python),
        version=str(first["version"]),
        torch=torch.get("version") or known.get("torch", {}).get("version", ""),
        torch_folder=torch.get("folder", ""),
        torch_cuda=torch.get("cuda", ""),
        nccl_required=_required(known.get("torch", {}).get("requires", ())),
        nccl_packages={name: each["version"] for name, each in known.items() if "nccl" in name},
        nccl_torch=loaded,
        nccl_engine=_library(stages.get("engine nccl", {}).get("engine")),
        nccl_passed_over=tuple(each for each in passed if loaded is None or each.path != loaded.path),
        sglang=engine.get("version") or known.get("sglang", {}).get("version", ""),
        sglang_folder=engine.get("folder", ""),
        cuda_driver=cuda_version(stages.get("driver", {}).get("cuda", 0)),
        trouble=trouble,
    )


def _library(found: Mapping[str, Any] | None) -> Library | None:
    if not found:
        return None
    return Library(found["path"], found["why"], nccl_version(found.get("number", 0)), found.get("error", ""))


def _required(lines: tuple[str, ...]) -> str:
    """``2.30.7`` of ``nvidia-nccl-cu13==2.30.7; platform_system == "Linux"``."""
    for line in lines:
        _, equals, rest = line.partition("==")
        if equals and line.startswith("nvidia-nccl"):
            return rest.partition(";")[0].strip(" )")
    return ""


def nccl_version(number: int) -> str:
    """``2.30.7`` of ncclGetVersion's 23007; before 2.9 the minor had one digit less. Empty for 0."""
    if number <= 0:
        return ""
    scale = 10_000 if number >= 10_000 else 1000
    return f"{number // scale}.{number % scale // 100}.{number % 100}"


def cuda_version(number: int) -> str:
    """``13.0`` of the driver's 13000. Empty for 0."""
    return f"{number // 1000}.{number % 1000 // 10}" if number > 0 else ""
