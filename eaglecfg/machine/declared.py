"""What a config declares about its machine, against the machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from eaglecfg.engines.blocks import loaded_in_blocks
from eaglecfg.engines.command import environment
from eaglecfg.engines.table import facts_of
from eaglecfg.machine.findings import Finding, Severity
from eaglecfg.machine.hardware import Block, block_of
from eaglecfg.machine.survey import Machine, Unseen
from eaglecfg.nccl.version import release
from eaglecfg.schema.loaded import LoadedConfig, LoadedDeployment
from eaglecfg.schema_files import read_schema

MEMORY_SLACK = 0.04
"""Makers count a GPU's memory in GB, GiB and round numbers."""

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?\s*", re.IGNORECASE)


def compare(machine: Machine, config: LoadedConfig, deployment: LoadedDeployment) -> Iterator[Finding]:
    """Where the machine is not the one that the deployment declares or needs."""
    declared, block = deployment.model.hardware, block_of(machine)
    if declared is not None and block is not None:
        given = {name: value for name, value in declared.model_dump().items() if value is not None}
        for name, value in given.items():
            have = getattr(block, name, None)
            if have is None or agrees(name, value, have, machine):
                continue
            severity: Severity = "error" if name in ("gpu", "count", "topology", "gpu_memory") else "warning"
            if name == "count" and value < have:
                severity = "info"
            place = _place(config, deployment, ("hardware", name))
            yield Finding(
                "hardware-differs",
                severity,
                f"{place} declares hardware.{name} {value}, and this machine has {have}",
                f"write {name}: {have} where this is the machine that serves; its checks go by it",
                {"deployment": deployment.name, "key": name, "declared": value, "found": have},
            )
    yield from _ranks(machine, config, deployment, block)
    yield from _engine(machine, config, deployment)
    yield from _variables(machine, config, deployment)


def not_compared(machine: Machine, deployment: LoadedDeployment) -> Iterator[Unseen]:
    """What the deployment declares and this look could not see."""
    declared, block = deployment.model.hardware, block_of(machine) or Block()
    if declared is None:
        why = "the deployment declares none"
        yield Unseen(
            f"hardware of {deployment.name}", why, "paste a block from a look at the machine that serves"
        )
        return
    given = [name for name, value in declared.model_dump().items() if value is not None]
    missing = [name for name in given if getattr(block, name, None) is None]
    if missing:
        yield Unseen(
            f"hardware of {deployment.name}: {', '.join(missing)}",
            "there is nothing on this machine to compare with",
            "run this where the server runs",
        )


def agrees(name: str, declared: Any, found: Any, machine: Machine) -> bool:
    """Whether a declared value of the hardware block means what was found."""
    if name == "gpu":
        return _same_gpu(str(declared), str(found))
    if name == "gpu_memory":
        sizes, have = sizes_of(str(declared)), sizes_of(str(found))
        return not sizes or not have or any(abs(size / have[0] - 1) <= MEMORY_SLACK for size in sizes)
    if name == "cuda":
        # Some mean the driver's, some that of torch.
        return any(_begins(str(declared), one) for one in (str(found), machine.python.torch_cuda) if one)
    if name in ("nccl_version", "torch", "python"):
        return _begins(str(declared), str(found))
    return bool(declared == found)


def sizes_of(text: str) -> list[int]:
    """The bytes that a size can mean: ``96GB`` is written for powers of 1000 and of 1024."""
    found = _SIZE.fullmatch(text)
    if found is None:
        return []
    number, unit, binary = found.groups()
    power = " KMGT".index(unit.upper() or " ")
    return [int(float(number) * scale**power) for scale in ((1024,) if binary else (1024, 1000))]


def _same_gpu(declared: str, found: str) -> bool:
    plain, have = (
        re.sub(r"[^A-Z0-9]", "", text.upper()).removeprefix("NVIDIA") for text in (declared, found)
    )
    model, other = _model(plain), _model(have)
    if model and other and not model.isalpha():
        return model == other
    return plain in have or have in plain


def _model(plain: str) -> str:
    """The part of a name that eaglecfg knows GPUs by: H200 of H200141GB, empty where it knows none."""
    return max((key for key in read_schema("nccl", "gpus.json")["gpus"] if key in plain), key=len, default="")


def _begins(declared: str, found: str) -> bool:
    """Whether ``2.28`` is declared where ``2.28.9`` was found."""
    have, given = release(found), release(declared)
    return bool(given) and have[: len(given)] == given


def _place(config: LoadedConfig, deployment: LoadedDeployment, path: tuple[str, ...]) -> str:
    document = config.document
    return f"{document.name}:{document.place(deployment.document_path(path)).value.start.line}"


def _ranks(
    machine: Machine, config: LoadedConfig, deployment: LoadedDeployment, block: Block | None
) -> Iterator[Finding]:
    facts = facts_of(config.engine)
    deployment = loaded_in_blocks(deployment, facts)
    parallel = deployment.model.parallel
    ranks = max(1, parallel.tp_size) * max(1, parallel.pp_size or 1)
    if not parallel.enable_dp_attention and (parallel.attn_dp_size or 1) == 1:
        ranks *= max(1, parallel.dp_size or 1)
    here = -(-ranks // max(1, parallel.nnodes or 1))
    have = block.count or 0 if block is not None else 0
    if block is not None and here > have:
        place = _place(config, deployment, ("parallel",))
        yield Finding(
            "gpus-too-few",
            "error",
            f"{place}: {deployment.name} needs {here} GPUs on each host, and this one has {have}",
            "lower tp_size, or serve it elsewhere",
            {"deployment": deployment.name, "needed": here, "found": have},
        )


def _engine(machine: Machine, config: LoadedConfig, deployment: LoadedDeployment) -> Iterator[Finding]:
    engine, have = config.engine, machine.python.sglang
    if engine is None or engine.name != "sglang" or not have or release(engine.version) == release(have):
        return
    line = config.document.place(("engine", "version")).value.start.line
    python, versions = machine.python.executable, f"{engine.version},{have}"
    yield Finding(
        "engine-differs",
        "error",
        f"{config.document.name}:{line} says SGLang {engine.version}, and {python} has {have}",
        f"install {engine.version}, or see what changes: eaglecfg validate --engine-version {versions}",
        {"declared": engine.version, "found": have},
    )


def _variables(machine: Machine, config: LoadedConfig, deployment: LoadedDeployment) -> Iterator[Finding]:
    for name, text in environment(deployment.model).items():
        have = machine.environment.get(name)
        if have is None or have == text:
            continue
        yield Finding(
            "variable-differs",
            "warning",
            f"this shell sets {name}={have}, and {deployment.name} in {config.document.name} sets {text}",
            "eaglecfg tune takes the file's; a server that is started here by hand takes the shell's",
            {"deployment": deployment.name, "variable": name},
        )
