"""What is wrong with the Python that will serve: torch, NCCL and the engine against each other."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eaglecfg.machine.findings import Finding
from eaglecfg.machine.python import Library, ServingPython
from eaglecfg.machine.survey import Machine
from eaglecfg.nccl.version import before, release

CAME_BY = {
    "LD_PRELOAD": "LD_PRELOAD",
    "sys.path": "the first folder of sys.path that holds one",
    "rpath": "the path inside torch's library",
    "runpath": "the path inside torch's library",
    "LD_LIBRARY_PATH": "LD_LIBRARY_PATH",
    "system": "the system's library path",
    "SGLANG_NCCL_SO_PATH": "SGLANG_NCCL_SO_PATH",
    "static": "torch's own library, which it is linked into",
}
"""How a libnccl is come by, in words."""


def check_python(machine: Machine) -> Iterator[Finding]:
    """All findings about the serving Python."""
    python = machine.python
    yield from _torch(machine, python)
    yield from _nccl_loaded(python)
    yield from _nccl_engine(python)
    yield from _nccl_packages(python)
    yield from _engine(machine, python)


def _torch(machine: Machine, python: ServingPython) -> Iterator[Finding]:
    if machine.gpus and python.torch and not python.torch_cuda:
        yield Finding(
            "torch-without-cuda",
            "error",
            f"torch {python.torch} of {python.executable} is built without CUDA, and there are GPUs",
            "install torch's CUDA build, or name the Python that serves with --python",
            {"torch": python.torch},
        )
    driver = python.cuda_driver or machine.cuda_driver
    if not (python.torch_cuda and driver and before(driver, python.torch_cuda)):
        return
    values = {"driver_cuda": driver, "torch_cuda": python.torch_cuda, "driver": machine.driver}
    named = f"driver {machine.driver}" if machine.driver else "the driver"
    if release(driver)[:1] != release(python.torch_cuda)[:1]:
        yield Finding(
            "driver-too-old",
            "error",
            f"{named} runs CUDA up to {driver}, torch {python.torch} is built for CUDA {python.torch_cuda}",
            f"update the driver, install NVIDIA's cuda-compat package, or a torch for CUDA {driver} or older",
            values,
        )
    else:
        yield Finding(
            "driver-older-minor",
            "info",
            f"{named} is of CUDA {driver}, torch {python.torch} of CUDA {python.torch_cuda}",
            "it works within one major version, but kernels compiled at run time may ask for a newer driver",
            values,
        )


def _nccl_loaded(python: ServingPython) -> Iterator[Finding]:
    loaded, wanted = python.nccl_torch, python.nccl_required
    if loaded is None:
        return
    values = {"loaded": loaded.version, "path": loaded.path, "why": loaded.why, "required": wanted}
    if loaded.error and loaded.why != "unread":
        yield Finding(
            "nccl-not-loadable",
            "error",
            f"the NCCL that torch comes to by {CAME_BY[loaded.why]} does not load: {loaded.error}",
            f"install nvidia-nccl {wanted} beside torch"
            if wanted
            else "install the NCCL that torch was built with",
            values,
        )
    elif loaded.version and wanted and release(loaded.version) != release(wanted):
        yield Finding(
            "nccl-not-torchs",
            "error" if before(loaded.version, wanted) else "warning",
            f"torch {python.torch} brings NCCL {wanted}, but loads {loaded.version} by {CAME_BY[loaded.why]} "
            f"({loaded.path})",
            _cure(loaded, wanted),
            values,
        )


def _cure(loaded: Library, wanted: str) -> str:
    if loaded.why in ("LD_PRELOAD", "LD_LIBRARY_PATH"):
        return f"take it out of {loaded.why}; if it is meant, declare hardware.nccl_version {loaded.version}"
    if loaded.why == "system":
        return f"install nvidia-nccl {wanted} beside torch, or declare hardware.nccl_version {loaded.version}"
    return (
        f"pip install the nvidia-nccl package at {wanted}, or declare hardware.nccl_version {loaded.version}"
    )


def _nccl_engine(python: ServingPython) -> Iterator[Finding]:
    engine, torch = python.nccl_engine, python.nccl_torch
    if engine is None:
        return
    values = {
        "path": engine.path,
        "version": engine.version,
        "torch": torch.version if torch is not None else "",
    }
    if engine.error:
        yield Finding(
            "engine-nccl-missing",
            "error",
            f"SGLANG_NCCL_SO_PATH names a library that does not load: {engine.error}",
            "correct the path, or unset the variable: then the engine takes torch's NCCL",
            values,
        )
    elif torch is None or engine.path != torch.path:
        other = f"{torch.version} ({torch.path})" if torch is not None and torch.version else "another one"
        yield Finding(
            "engine-nccl-differs",
            "warning",
            f"the engine runs NCCL {engine.version} of SGLANG_NCCL_SO_PATH ({engine.path}), and torch's own "
            f"groups run {other}",
            "two NCCLs in one process read the same variables in two ways; unset it unless that is meant",
            values,
        )


def _nccl_packages(python: ServingPython) -> Iterator[Finding]:
    if len(python.nccl_packages) > 1:
        shown = ", ".join(f"{name} {version}" for name, version in sorted(python.nccl_packages.items()))
        yield Finding(
            "nccl-packages-overlap",
            "warning",
            f"several NCCL packages are installed, and they write the same file: {shown}",
            "the one installed last won; uninstall all of them and install the one that torch requires"
            + (f" ({python.nccl_required})" if python.nccl_required else ""),
            {"packages": dict(python.nccl_packages)},
        )


def _engine(machine: Machine, python: ServingPython) -> Iterator[Finding]:
    if not python.sglang:
        return
    values = {"sglang": python.sglang}
    standing = machine.engine
    if standing is None:
        yield Finding(
            "sglang-version-unknown",
            "warning",
            f"SGLang calls itself {python.sglang}, which is no release that eaglecfg could place",
            "no facts apply; declare the release that it was built from as engine.version",
            values,
        )
        return
    if standing.standing != "known":
        word = {"newer": "newer than", "older": "older than", "between": "none of"}.get(
            standing.standing, "no release of"
        )
        yield Finding(
            "sglang-facts-nearest",
            "warning",
            f"SGLang {python.sglang} is {word} the releases that eaglecfg has facts about; those of "
            f"{standing.facts_of} apply",
            "update eaglecfg, or compare the facts with its wheel: eaglecfg engine-diff WHEEL",
            {**values, "facts_of": standing.facts_of, "standing": standing.standing},
        )
    yield from _pins(machine, python, standing.facts_of)


def _pins(machine: Machine, python: ServingPython, facts_of: str) -> Iterator[Finding]:
    from eaglecfg.engines.table import load_facts

    facts = load_facts("sglang", facts_of)
    if facts is None or facts.standing != "known" or facts_of != python.sglang.partition("+")[0]:
        return
    pins, least = facts.values.get("pins", {}), facts.values.get("least_cuda")
    torch = pins.get("torch", "").removeprefix("==")
    have = python.torch.partition("+")[0]
    if torch and have and torch != have and re.fullmatch(r"[\d.]+", torch):
        yield Finding(
            "torch-not-pinned",
            "warning",
            f"SGLang {python.sglang} pins torch {torch}, and {have} is installed",
            f"its kernels are built for {torch}; install that, or build the kernels",
            {"sglang": python.sglang, "torch": python.torch, "pinned": torch},
        )
    driver = python.cuda_driver or machine.cuda_driver
    if least is not None and driver and release(driver)[0] < least["major"]:
        yield Finding(
            "driver-too-old-for-engine",
            "error",
            f"SGLang {python.sglang} needs CUDA {least['major']} or later, the driver runs up to {driver}",
            f"update the driver, or run SGLang {least['last_before']}, the last with builds for older ones",
            {"sglang": python.sglang, "driver_cuda": driver, "least": least["major"]},
        )
