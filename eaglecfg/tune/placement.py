"""Which GPUs of this machine a server command will use: by its flags, its environment and its launch
prefix."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from eaglecfg.engines.facts import EngineFacts
from eaglecfg.tune.gpu import Gpu, find_gpus
from eaglecfg.tune.trial import ServerCommand

VISIBLE = "CUDA_VISIBLE_DEVICES"

ELSEWHERE = frozenset({"srun", "ssh", "kubectl", "ray"})
"""Prefixes whose server may run on another machine, whose GPUs are not ours to look at."""

CONTAINERS = frozenset({"docker", "podman", "nerdctl"})

OUT_OF_REACH = ELSEWHERE | CONTAINERS | {"systemd-run"}
"""Prefixes whose server does not run below the supervisor, so that only a stop command can end it."""

FIRST = 4
"""Words among which a prefix names its programs: ``sudo nice docker run``."""

WITHOUT_GPU = ("eaglecfg.tune.standin",)
"""Modules whose servers use no GPU."""

ALIASES: Mapping[str, str] = {
    "tp": "tp_size",
    "tensor_parallel_size": "tp_size",
    "pp": "pp_size",
    "pipeline_parallel_size": "pp_size",
    "dp": "dp_size",
    "data_parallel_size": "dp_size",
}
"""Other names of these flags: facts may not be known, and argparse takes the beginning of a name as well."""

ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")

GPUS_OF_CONTAINER = re.compile(r"--gpus[= ]+[\"']*(?:device=)([\w,.-]+)")


def gpus_of(command: ServerCommand, facts: EngineFacts | None, environ: Mapping[str, str]) -> tuple[Gpu, ...]:
    """The GPUs that ``command`` will use, in CUDA's order; none without NVML, for servers that run elsewhere
    and for those that need none. ``environ`` is what the server inherits.

    A server that asks for more ranks than there are GPUs is given all that can be seen; it says itself what
    it lacks.
    """
    visible = visible_gpus(command, facts, environ)
    places = ranks_on(read_flags(command.argv, facts))
    chosen = [gpu for place, gpu in enumerate(visible) if place in places]
    return tuple(chosen) if len(chosen) == len(places) else visible


def visible_gpus(
    command: ServerCommand, facts: EngineFacts | None, environ: Mapping[str, str]
) -> tuple[Gpu, ...]:
    """All GPUs that ``command`` could use, in CUDA's order."""
    if set(programs(command.argv)) & ELSEWHERE or any(word.startswith(WITHOUT_GPU) for word in command.argv):
        return ()
    if not read_flags(command.argv, facts).get("device", "cuda").startswith("cuda"):
        return ()
    return tuple(find_gpus(visible_to(command, environ)))


def programs(argv: Sequence[str]) -> list[str]:
    """Names of the first words of a command, among which its prefix's programs are. Variables and options
    before them do not count; a script (``sh -c 'docker run …'``) counts by its words."""
    words = [word for word in argv if not word.startswith("-") and not ASSIGNMENT.match(word)]
    return [Path(piece).name for word in words[:FIRST] for piece in word.split()]


def visible_to(command: ServerCommand, environ: Mapping[str, str]) -> str | None:
    """The value of CUDA_VISIBLE_DEVICES that the server sees, None where it sees none.

    A launch prefix may set it: ``env CUDA_VISIBLE_DEVICES=1 …``, ``docker run -e …`` or ``--gpus device=1``.
    """
    for word in reversed(command.argv):
        name, equals, value = word.rpartition("=")
        if equals and name in (VISIBLE, f"-e{VISIBLE}", f"--env={VISIBLE}"):
            return value
    if set(programs(command.argv)) & CONTAINERS:
        found = GPUS_OF_CONTAINER.search(" ".join(command.argv))
        # A container has no part in the environment here, only in the GPUs that it is given.
        return found[1] if found else None
    return command.env[VISIBLE] if VISIBLE in command.env else environ.get(VISIBLE)


def read_flags(argv: Sequence[str], facts: EngineFacts | None) -> dict[str, str]:
    """Options of a command line by their name with underscores; a switch has the value ``true``. The last of
    two wins, as for the engine."""
    flags: dict[str, str] = {}
    for place, word in enumerate(argv):
        if not word.startswith("--"):
            continue
        name, equals, value = word[2:].partition("=")
        plain = name.replace("-", "_")
        name = ALIASES.get(plain, plain)
        if facts is not None:
            name = facts.flags.canonical(name)
        if not equals:
            follows = argv[place + 1] if place + 1 < len(argv) else "--"
            value = "true" if follows.startswith("--") else follows
        flags[name] = value
    return flags


def ranks_on(flags: Mapping[str, str]) -> set[int]:
    """Places among the visible GPUs that the ranks of this host take.

    A rank takes base_gpu_id + its number x gpu_id_step; replicas follow one another (0.5.14
    srt/entrypoints/engine.py:615, srt/managers/data_parallel_controller.py:272-299).
    """
    ranks = _whole(flags, "tp_size") * _whole(flags, "pp_size")
    if "enable_dp_attention" not in flags and _whole(flags, "attn_dp_size") == 1:
        ranks *= _whole(flags, "dp_size")
    here = -(-ranks // _whole(flags, "nnodes"))
    base, step = _whole(flags, "base_gpu_id", 0), _whole(flags, "gpu_id_step")
    return {base + number * step for number in range(here)}


def _whole(flags: Mapping[str, str], name: str, default: int = 1) -> int:
    text = flags.get(name, "")
    return max(int(text), default) if text.isdecimal() else default
