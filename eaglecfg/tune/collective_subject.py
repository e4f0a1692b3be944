"""What a benchmark is to measure, from files and from the machine: sizes, settings, ranks, the Python."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from eaglecfg.engines.command import environment_name
from eaglecfg.errors import UsageError
from eaglecfg.nccl.bench.setting import DEFAULT, MOST_SETTINGS, Setting
from eaglecfg.nccl.bench.size import DTYPE_BYTES, Shape, whole
from eaglecfg.nccl.facts import nccl_of_torch
from eaglecfg.record import record
from eaglecfg.rules.context import Context
from eaglecfg.rules.study.parts import UNSET
from eaglecfg.schema.deployment import Deployment
from eaglecfg.source.document import Document
from eaglecfg.tune.space import Dimension, read_space

NEWEST = "2.32.3"
"""The NCCL whose grammar is assumed where nothing tells the version."""

PROBE_S = 60.0
_PROBE = """\
import importlib.util, json, sys
from importlib import metadata
def version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
names = ("nvidia-nccl-cu13", "nvidia-nccl-cu12", "nvidia-nccl-cu11")
print(json.dumps({
    "python": sys.version.split()[0],
    "torch": importlib.util.find_spec("torch") is not None,
    "torch_version": version("torch"),
    "nccl": next(filter(None, map(version, names)), ""),
}))
"""


@record
class Interpreter:
    """The Python that has torch. ``nccl`` is its version, ``told`` where that is from, in words."""

    python: str
    torch: str
    nccl: str
    told: str


def interpreter(python: str, environment: Mapping[str, str]) -> Interpreter:
    """What ``python`` has installed, without importing torch. Raises UsageError where it has none."""
    try:
        done = subprocess.run(
            [python, "-c", _PROBE],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(
            f"{python} did not answer within {PROBE_S:g} s; name another with --python"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(
            f"{python} cannot be started: {reason}; name the Python that has torch with --python"
        ) from None
    try:
        said = json.loads(done.stdout.decode(errors="replace").strip().splitlines()[-1])
        has, torch, nccl = bool(said["torch"]), str(said["torch_version"]), str(said["nccl"])
    except (ValueError, IndexError, KeyError, TypeError):
        last = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()[-1:]
        why = f": {last[0][:200]}" if last else f", it ended with status {done.returncode}"
        raise UsageError(f"{python} does not answer as a Python would{why}") from None
    if not has:
        raise UsageError(f"{python} has no torch; name the Python that has it with --python")
    if nccl:
        return Interpreter(python, torch, nccl, f"installed beside torch {torch}")
    known = nccl_of_torch(torch)
    if known:
        return Interpreter(python, torch, known, f"what torch {torch} brings")
    return Interpreter(python, torch, NEWEST, "assumed; nothing tells the version")


def gpus_seen(environment: Mapping[str, str], devices: Path = Path("/dev")) -> int:
    """How many GPUs a process here would see, by CUDA_VISIBLE_DEVICES and the device files."""
    try:
        files = sum(1 for name in os.listdir(devices) if re.fullmatch(r"nvidia[0-9]+", name))  # noqa: PTH208
    except OSError:
        files = 0
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return files
    named = [part.strip() for part in visible.split(",")]
    usable = next((index for index, part in enumerate(named) if part in ("", "-1")), len(named))
    return min(files, usable)


def deployment_shape(context: Context) -> Shape:
    """The numbers behind the message sizes of a deployment. Raises UsageError for what nothing tells."""
    model, name = context.model, context.deployment.name if context.deployment is not None else ""
    found = context.target.config if context.target is not None else None
    hidden = model.target.hidden_size or (whole(found.integer("hidden_size")) if found is not None else None)
    if hidden is None:
        raise UsageError(
            f"{name}: the hidden size is not known, as {model.target.checkpoint} has no config.json that "
            f"tells it; declare target.hidden_size, or give --bytes"
        )
    dtype = _dtype(context)
    if not context.speculates or model.speculative == "off":
        return Shape(hidden, None, 1, 0, dtype)
    topk = whole(_runs(context, "speculative_eagle_topk")) or 1
    tokens = whole(_runs(context, "speculative_num_draft_tokens"))
    steps = whole(_runs(context, "speculative_num_steps"))
    if tokens is None and steps is not None and topk == 1:
        tokens = steps + 1
    if tokens is None:
        raise UsageError(
            f"{name}: how many draft tokens a verify has is not known; set speculative.num_draft_tokens, or "
            f"give --bytes"
        )
    own = context.draft.config if context.draft is not None else None
    declared = model.draft.hidden_size if model.draft is not None else None
    width = declared or (whole(own.integer("hidden_size")) if own is not None else None)
    return Shape(hidden, width, tokens, topk, dtype)


def _runs(context: Context, name: str) -> object:
    if context.resolution is not None:
        return context.resolution.runs(name)
    speculative = context.model.speculative
    return getattr(speculative, name.removeprefix("speculative_"), None)


def _dtype(context: Context) -> str:
    """The dtype of the hidden states; bfloat16 where nothing says otherwise."""
    runs = context.resolution.runs("target.dtype") if context.resolution is not None else None
    return runs if isinstance(runs, str) and runs in DTYPE_BYTES else "bfloat16"


def rank_count(context: Context) -> int | None:
    """Tensor-parallel ranks of the deployment, None for one alone: it has nothing to reduce."""
    size = context.model.parallel.tp_size
    return size if size > 1 else None


def study_settings(document: Document, given: Mapping[str, object], base: Deployment) -> tuple[Setting, ...]:
    """Every combination of the NCCL variables in a study's space. Raises UsageError."""
    space = {key: entry for key, entry in given.items() if _variable(key) or key == "nccl"}
    if not space:
        raise UsageError(f"{document.name}: its space has no nccl key and no NCCL variable under env")
    dimensions = read_space(document, space, base).dimensions
    count = 1
    for dimension in dimensions:
        count *= dimension.size
    if count > MOST_SETTINGS:
        raise UsageError(
            f"{document.name}: its NCCL space has {count} combinations, more than {MOST_SETTINGS}; name some "
            f"with --setting"
        )
    return tuple(_combined(picked, dimensions) for picked in itertools.product(*map(_choices, dimensions)))


def _choices(dimension: Dimension) -> list[object]:
    return [dimension.value(point) for point in dimension.points()]


def _combined(picked: Sequence[object], dimensions: Sequence[Dimension]) -> Setting:
    chosen: dict[str, object] = {}
    for dimension, value in zip(dimensions, picked, strict=True):
        block = value if isinstance(value, dict) else {}
        chosen |= {f"nccl.{name}": item for name, item in block.items()} if block else {dimension.key: value}
    variables = {_variable(key): str(value) for key, value in chosen.items() if value != UNSET}
    words = " ".join(f"{name.removeprefix('NCCL_')}={text}" for name, text in variables.items())
    return Setting(words or DEFAULT, variables)


def _variable(key: str) -> str:
    """The environment name behind a key of a study's space, empty for keys that are none of NCCL's."""
    section, dot, rest = key.partition(".")
    if not dot or not rest:
        return ""
    name = environment_name(rest) if section == "nccl" else rest if section == "env" else ""
    return name if name.startswith(("NCCL_", "TORCH_NCCL_")) else ""
