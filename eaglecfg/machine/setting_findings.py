"""What is wrong with the variables that a server started here would get."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.machine.environment import Setting, in_force
from eaglecfg.machine.findings import Finding, Severity
from eaglecfg.machine.nvml import device_of, words_of
from eaglecfg.machine.survey import Machine
from eaglecfg.nccl.facts import VariableFact, nccl_of_torch, related, variable_fact
from eaglecfg.nccl.names import meant, nearest
from eaglecfg.nccl.parse import parse
from eaglecfg.nccl.version import at_least, before

NEWEST = "2.30.7"
"""Grammar by which settings are read where no NCCL was found."""

MILD = frozenset(("spelling", "power", "unusual", "number", "empty"))
MILD_NAMES = frozenset(("NCCL_LAUNCH_MODE", "NCCL_CHECK_MODE", "NCCL_NET_MERGE_POLICY"))
"""Problems, and variables of which any problem costs a log line only."""

VISIBLE = "CUDA_VISIBLE_DEVICES"
P2P_OFF = (("NCCL_P2P_DISABLE", "1"), ("NCCL_P2P_LEVEL", "LOC"))


def check_settings(machine: Machine) -> Iterator[Finding]:
    """All findings about the environment, then about the files that NCCL reads."""
    version = nccl_version_of(machine)
    for name, text in machine.environment.items():
        yield from _variable(name, text, version, "the environment sets")
    yield from _conf_files(machine, version)
    yield from _visible(machine)
    yield from _slow(machine)
    yield from _engine_variables(machine)


def nccl_version_of(machine: Machine) -> str:
    """The NCCL by whose grammar settings are read."""
    python = machine.python
    loaded = python.nccl_torch.version if python.nccl_torch is not None else ""
    return loaded or python.nccl_required or nccl_of_torch(python.torch) or NEWEST


def _variable(name: str, text: str, version: str, who: str) -> Iterator[Finding]:
    if name.startswith("TORCH_NCCL_"):
        yield from _torch_name(name, who)
    if not name.startswith("NCCL_"):
        return
    fact = variable_fact(name)
    if fact is None:
        yield from _unknown(name, who)
        return
    standing = fact.standing(version)
    if standing in ("not yet", "gone"):
        history = f"it came with {fact.first}" if standing == "not yet" else "it is gone"
        yield Finding(
            "nccl-variable-unread",
            "warning",
            f"{who} {name}, which NCCL {version} does not read; {history}",
            "leave it out: it changes nothing, and NCCL does not say so",
            {"variable": name, "nccl_version": version},
        )
        return
    yield from _misread(fact, text, version, who)


def _misread(fact: VariableFact, text: str, version: str, who: str) -> Iterator[Finding]:
    name = fact.name
    for problem in parse(name, text, version).problems:
        mild = problem.code in MILD or name in MILD_NAMES or fact.acts == "debug" or bool(fact.get("mild"))
        severity: Severity = "warning" if mild else "error"
        write = problem.fixed or problem.expected
        part = f" ({problem.part})" if problem.part and problem.part != text else ""
        yield Finding(
            "nccl-variable-misread",
            severity,
            f"{who} {name}={text}{part}: {problem.outcome}; it takes {problem.expected}",
            f"write {name}={problem.fixed}" if problem.fixed else f"give it {write}, or unset it",
            {"variable": name, "text": text, "nccl_version": version, "problem": problem.code},
        )


def _unknown(name: str, who: str) -> Iterator[Finding]:
    table = related()
    values = {"variable": name}
    if name in table["not_settings"] or any(name.startswith(start) for start in table["plugins"]):
        return
    new = table["torch_old"].get(name)
    if new is not None:
        read = name in table["torch_reads_old"]
        message = f"{who} {name}, which is torch's, under the name of old: {new} today"
        help_ = "torch still reads it" if read else "torch does not read it any more"
        yield Finding("nccl-variable-renamed", "warning", message, f"{help_}; write {new}", values)
        return
    near, turned = meant(name)
    said = f"; the nearest name is {near}" if near else f"; {turned} says the opposite" if turned else ""
    advice = "unset it, unless a plug-in of yours reads it"
    if near or turned:
        advice = f"write {near}, or unset it" if near else f"unset it, or turn the value around for {turned}"
    yield Finding(
        "nccl-variable-unknown",
        "warning",
        f"{who} {name}, which NCCL does not read{said}",
        advice,
        {**values, "nearest": near or turned},
    )


def _torch_name(name: str, who: str) -> Iterator[Finding]:
    known = related()["torch"]
    if name in known:
        return
    bare = name.removeprefix("TORCH_")
    near = bare if variable_fact(bare) is not None else nearest(name, list(known), "TORCH_NCCL_")
    yield Finding(
        "torch-variable-unknown",
        "warning" if near else "info",
        f"{who} {name}, which torch does not read",
        f"write {near}" if near else "unset it, unless another part of the server reads it",
        {"variable": name, "nearest": near},
    )


def _conf_files(machine: Machine, version: str) -> Iterator[Finding]:
    for file in machine.conf_files:
        named = file.path == machine.environment.get("NCCL_CONF_FILE")
        if file.state == "unreadable" or (file.state == "absent" and named):
            gone = "is not there" if file.state == "absent" else "cannot be read"
            yield Finding(
                "nccl-conf-unread",
                "warning",
                f"{file.path} {gone}: NCCL passes over it without a word",
                "correct NCCL_CONF_FILE; ~ is not expanded there"
                if file.state == "absent"
                else "look at its rights",
                {"file": file.path},
            )
        holds = [setting for setting in file.settings if not setting.shadowed]
        ours = [setting for setting in holds if setting.name.startswith("NCCL_")]
        if ours:
            shown = ", ".join(f"{setting.name}={setting.value}" for setting in ours[:6])
            shown += f" and {len(ours) - 6} more" if len(ours) > 6 else ""
            yield Finding(
                "nccl-conf-applies",
                "warning",
                f"{file.path} sets {shown} for every program that runs NCCL here, unseen by eaglecfg.yaml",
                "move what is meant to the nccl: block, where it is checked, and take it out here",
                {"file": file.path, "settings": {setting.name: setting.value for setting in ours}},
            )
        for setting in holds:
            yield from _line(file.path, setting, version)
        for number, text in file.odd[:3]:
            yield Finding(
                "nccl-conf-line",
                "warning",
                f"{file.path}:{number} is no NAME=VALUE, so that NCCL passes over it: {text[:60]}",
                "write NAME=VALUE without spaces; a comment starts with # in the first column",
                {"file": file.path, "line": number},
            )


def _line(path: str, setting: Setting, version: str) -> Iterator[Finding]:
    name = setting.name
    if name != name.strip():
        yield Finding(
            "nccl-conf-line",
            "warning",
            f"{path}:{setting.line} sets {name!r}, a name with a space at its end, which nothing reads",
            f"write {name.strip()}={setting.value.strip()}",
            {"file": path, "line": setting.line},
        )
        return
    yield from _variable(name, setting.value, version, f"{path}:{setting.line} sets")


def _visible(machine: Machine) -> Iterator[Finding]:
    text = machine.environment.get(VISIBLE)
    if text is None or not machine.gpus:
        return
    values = {"variable": VISIBLE, "text": text}
    parts, devices = words_of(text), [(gpu.index, gpu.uuid) for gpu in machine.gpus]
    if not machine.visible_gpus:
        yield Finding(
            "no-gpu-visible",
            "error",
            f"{VISIBLE}={text} leaves none of the {len(machine.gpus)} GPUs",
            f"unset it, or list GPUs: {','.join(str(gpu.index) for gpu in machine.gpus)}",
            values,
        )
        return
    strange = [part for part in parts if device_of(part, devices) is None]
    if strange:
        yield Finding(
            "visible-gpu-missing",
            "error",
            f"{VISIBLE}={text} names {strange[0]}, which is no GPU here: CUDA drops it and all that follow",
            f"list GPUs that exist: {','.join(str(gpu.index) for gpu in machine.gpus)}",
            values,
        )
    if len(machine.visible_gpus) > 1 and not all(part.isdecimal() for part in parts):
        yield Finding(
            "visible-by-name",
            "warning",
            f"{VISIBLE} names GPUs by UUID, which the engine's own all-reduce cannot read",
            "NCCL carries decode then; list indices: "
            + ",".join(str(gpu.index) for gpu in machine.visible_gpus),
            values,
        )
    if len(machine.visible_gpus) < len(machine.gpus):
        yield Finding(
            "gpus-hidden",
            "info",
            f"{VISIBLE}={text} leaves {len(machine.visible_gpus)} of {len(machine.gpus)} GPUs to a server "
            "started here; the hardware block counts those",
            "",
            values,
        )


def _slow(machine: Machine) -> Iterator[Finding]:
    given = machine.environment
    if given.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0"):
        yield Finding(
            "launch-blocking",
            "warning",
            "CUDA_LAUNCH_BLOCKING is on: every kernel waits for the one before, which makes decoding slow",
            "unset it",
            {"variable": "CUDA_LAUNCH_BLOCKING"},
        )
    for name, fact in related()["torch"].items():
        if "slow_on" in fact and given.get(name) == fact["slow_on"]:
            yield Finding(
                "torch-variable-slow",
                "info",
                f"{name}={given[name]} makes torch's own collectives slower",
                "unset it unless you are looking for a fault",
                {"variable": name},
            )
    links, seen = machine.links, in_force(given, machine.conf_files)
    off = next((name for name, text in P2P_OFF if seen.get(name) == text), None)
    if off is not None and links is not None and any(pair.nvlink for pair in links.pairs):
        yield Finding(
            "nccl-p2p-off",
            "warning",
            f"{off}={seen[off]} keeps NCCL from the NVLinks of this machine",
            "unset it, unless it is a way around a fault",
            {"variable": off},
        )


def _engine_variables(machine: Machine) -> Iterator[Finding]:
    from eaglecfg.nccl.engine_writes import engine_variables

    if machine.engine is None or machine.engine.standing not in ("known", "between"):
        return
    version = machine.engine.version
    for name, fact in engine_variables("sglang").items():
        if name not in machine.environment:
            continue
        early = before(version, fact["since"])
        if not early and ("until" not in fact or at_least(fact["until"], version)):
            continue
        history = (
            f"it came with {fact['since']}" if early else f"{fact['until']} was the last version with it"
        )
        yield Finding(
            "engine-variable-unread",
            "warning",
            f"the environment sets {name}, which SGLang {version} does not read; {history}",
            "unset it",
            {"variable": name, "sglang": version},
        )
