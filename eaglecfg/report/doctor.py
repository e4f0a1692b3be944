"""A look at a machine as text: what is there, the block to paste, what was not seen, what is wrong."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from eaglecfg.machine.findings import SEVERITIES, Finding
from eaglecfg.machine.gpus import Gpu
from eaglecfg.machine.hardware import Block, block_of
from eaglecfg.machine.host import Host, Limit
from eaglecfg.machine.links import Pair
from eaglecfg.machine.python import Library, ServingPython
from eaglecfg.machine.python_findings import CAME_BY
from eaglecfg.machine.survey import Machine, Unseen
from eaglecfg.report.styled import Line, Part, line, visible, wrapped

GIB, MIB = 1 << 30, 1 << 20
LABEL = 13
"""Columns of what a line is about."""
LONGEST_VALUE = 300


def render(
    machine: Machine, findings: Sequence[Finding], unseen: Sequence[Unseen], *, version: str, width: int
) -> list[Line]:
    """The whole report. ``version`` is the tool's own."""
    out: list[Line] = [line(Part("eaglecfg", "bold"), f" {version} doctor"), ()]
    for label, text in _facts(machine):
        out += _fact(label, text, width)
    out += [(), *_block(block_of(machine))]
    if unseen:
        out += [(), line(Part("not seen", "bold"))]
        for one in unseen:
            text = f"{one.why}; {one.help}" if one.help else one.why
            out += wrapped(line(f"  {one.what}:"), visible(text), width, "    ", "dim")
    if findings:
        out += [(), *_findings(findings, width)]
    return [*out, (), _summary(findings, unseen)]


def _fact(label: str, text: str, width: int) -> list[Line]:
    lead = line(Part(f"{label:<{LABEL - 1}}", "bold"))
    return wrapped(lead, visible(text), width, " " * LABEL)


def _facts(machine: Machine) -> Iterator[tuple[str, str]]:
    yield "host", _host(machine.host)
    yield from _limits(machine.host)
    yield from _driver(machine)
    for gpu in machine.gpus:
        yield f"GPU {gpu.index}", _gpu(gpu)
        yield "", _gpu_modes(gpu)
    if machine.links is not None and machine.gpus:
        yield "topology", f"{machine.links.topology or 'not decided'}: {machine.links.why}"
        for text in _pairs(machine.links.pairs):
            yield "", text
    yield from _python(machine)
    for name, value in machine.environment.items():
        yield "environment", f"{name}={value[:LONGEST_VALUE]}{' …' * (len(value) > LONGEST_VALUE)}"
    for file in machine.conf_files:
        for setting in file.settings:
            over = f" (not in force: {setting.shadowed} wins)" if setting.shadowed else ""
            yield "nccl.conf", f"{file.path}:{setting.line} {setting.name}={setting.value}{over}"
        if file.state == "unreadable":
            yield "nccl.conf", f"{file.path} cannot be read"
    for server in machine.servers:
        held = f", {_size(server.gpu_bytes)} of GPU memory" if server.gpu_bytes else ""
        since = f", since {_clock(server.started)}" if server.started is not None else ""
        count = f"{len(server.processes)} process{'es' * (len(server.processes) != 1)}"
        yield "server", f"pid {server.pid} of {server.user}, {count}{since}{held}: {server.command}"
    if machine.ports is not None:
        yield "ports", _ports(machine)


def _host(host: Host) -> str:
    words = [f"Linux {host.kernel}"]
    if host.container:
        words.append(
            "in Kubernetes" if host.container == "kubernetes" else f"in a {host.container} container"
        )
    if host.sandbox:
        words.append(f"on {'gVisor' if host.sandbox == 'gVisor' else 'a ' + host.sandbox}")
    parts = [" ".join(words)]
    if host.cpus is not None:
        parts.append(f"{host.cpus} CPU{'s' * (host.cpus != 1)}")
    if host.memory_bytes is not None:
        parts.append(f"{_size(host.memory_bytes)} of memory")
    if host.numa_nodes is not None:
        parts.append(f"{host.numa_nodes} NUMA node{'s' * (host.numa_nodes != 1)}")
    if host.infiniband:
        parts.append("InfiniBand " + " ".join(host.infiniband))
    return ", ".join(parts)


def _limits(host: Host) -> Iterator[tuple[str, str]]:
    parts = []
    if host.shared_memory is not None:
        shared = host.shared_memory
        parts.append(f"{shared.path} {_size(shared.free_bytes)} free of {_size(shared.total_bytes)}")
    if host.memlock_bytes is not None:
        parts.append(f"locked memory {_limit(host.memlock_bytes, MIB, ' MiB')}")
    if host.open_files is not None:
        parts.append(f"open files {_limit(host.open_files, 1, '')}")
    if parts:
        yield "limits", ", ".join(parts)


def _limit(limit: Limit, unit: int, name: str) -> str:
    return "unlimited" if limit.soft is None else f"{limit.soft // unit}{name}"


def _driver(machine: Machine) -> Iterator[tuple[str, str]]:
    if machine.driver or machine.cuda_driver:
        parts = [machine.driver or "of unknown version"]
        if machine.cuda_driver:
            parts.append(f"CUDA up to {machine.cuda_driver}")
        yield "driver", ", ".join(parts)


def _gpu(gpu: Gpu) -> str:
    parts = [gpu.name or "without a name"]
    if gpu.memory_total_bytes is not None:
        used = f", {_size(gpu.memory_used_bytes)} used" if gpu.memory_used_bytes is not None else ""
        parts.append(f"{_size(gpu.memory_total_bytes)}{used}")
    if gpu.power_limit_watts is not None:
        now = f"{gpu.power_watts:.0f} of " if gpu.power_watts is not None else "at most "
        parts.append(f"{now}{gpu.power_limit_watts:.0f} W")
    if gpu.sm_clock_mhz is not None and gpu.sm_clock_max_mhz is not None:
        parts.append(f"{gpu.sm_clock_mhz} of {gpu.sm_clock_max_mhz} MHz")
    if gpu.utilisation_percent:
        parts.append(f"{gpu.utilisation_percent} % busy")
    if gpu.celsius is not None:
        parts.append(f"{gpu.celsius} °C")
    if gpu.throttled:
        parts.append("held back by " + " and ".join(gpu.throttled))
    if not gpu.visible:
        parts.append("hidden by CUDA_VISIBLE_DEVICES")
    return ", ".join(parts)


def _gpu_modes(gpu: Gpu) -> str:
    parts = [f"compute capability {gpu.capability}"] if gpu.capability else []
    parts += [
        f"{name} {'on' if value else 'off'}"
        for name, value in (("ECC", gpu.ecc), ("MIG", gpu.mig), ("persistence", gpu.persistence))
        if value is not None
    ]
    if gpu.fabric:
        parts.append(f"fabric {gpu.fabric}")
    if gpu.numa_node is not None:
        parts.append(f"NUMA node {gpu.numa_node}")
    return ", ".join([*parts, *(text for text in (gpu.bus, gpu.uuid) if text)])


def _pairs(pairs: Sequence[Pair]) -> Iterator[str]:
    """Pairs that are alike together: eight GPUs have 28."""
    alike: dict[str, list[str]] = {}
    for pair in pairs:
        alike.setdefault(_pair(pair), []).append(f"{pair.first}-{pair.second}")
    for text, names in alike.items():
        whole = len(names) == len(pairs) > 1
        yield f"{f'all {len(names)} pairs' if whole else ' '.join(names)}: {text}"


def _pair(pair: Pair) -> str:
    if pair.nvlink is None:
        parts = ["links not told"]
    elif not pair.nvlink:
        parts = ["no NVLink"]
    elif pair.direct:
        parts = [f"{pair.direct} NVLink{'s' * (pair.direct != 1)}"]
    else:
        parts = ["NVLink through switches" if pair.switched else "NVLink"]
    parts.append(f"P2P {pair.p2p}" if pair.p2p is not None else "P2P not told")
    if pair.path:
        parts.append(f"PCIe {pair.path}")
    return ", ".join(parts)


def _python(machine: Machine) -> Iterator[tuple[str, str]]:
    python = machine.python
    yield "Python", f"{python.version or 'of unknown version'}, {python.executable}"
    if python.torch:
        built = f"for CUDA {python.torch_cuda}" if python.torch_cuda else "without CUDA"
        place = f", {python.torch_folder}" if python.torch_folder else ""
        yield "torch", f"{python.torch}, built {built}{place}"
    yield from _nccl(python)
    if python.sglang:
        standing = machine.engine
        if standing is None:
            told = "no facts apply"
        elif standing.standing == "known":
            told = "eaglecfg has its facts"
        else:
            told = f"eaglecfg has no facts about it; those of {standing.facts_of} are the nearest"
        place = f", {python.sglang_folder}" if python.sglang_folder else ""
        yield "SGLang", f"{python.sglang}, {told}{place}"


def _nccl(python: ServingPython) -> Iterator[tuple[str, str]]:
    if python.nccl_torch is not None:
        brings = f"; torch brings {python.nccl_required}" if python.nccl_required else ""
        yield "NCCL", f"{_library(python.nccl_torch)}{brings}"
    if python.nccl_engine is not None:
        yield "", f"the engine's own: {_library(python.nccl_engine)}"
    elif python.nccl_torch is not None and python.nccl_torch.version:
        yield "", "torch and the engine load the same one"
    for other in python.nccl_passed_over:
        yield "", f"passed over: {other.path}, by {CAME_BY.get(other.why, other.why)}"


def _library(found: Library) -> str:
    if found.error:
        return f"not told: {found.error}"
    path = f", {found.path}" if found.path else ""
    return f"{found.version or 'of unknown version'}{path}, by {CAME_BY.get(found.why, found.why)}"


def _ports(machine: Machine) -> str:
    ports = machine.ports
    assert ports is not None
    taken = ", ".join(str(one.port) for one in ports.taken)
    free = f"{ports.port} is free, and so are those that a server derives from it"
    state = f"of {ports.port} and those derived from it {taken} taken" if taken else free
    return (
        f"{state}; {ports.range_listening or 'none'} of {ports.range_first} to {ports.range_last}, where "
        "tune looks for its own, taken"
    )


def _block(block: Block | None) -> Iterator[Line]:
    if block is None:
        yield line(Part("hardware:", "dim"), Part(" no block to paste: no GPU was seen", "dim"))
        return
    yield line(Part("to paste into a deployment of eaglecfg.yaml", "bold"))
    for each in block_lines(block):
        yield line(f"    {each}")


def block_lines(block: Block) -> list[str]:
    """The block as YAML. Texts stand in quotes, since YAML takes some of them for numbers."""
    rows = ["hardware:"]
    for name in Block.__annotations__:
        value = getattr(block, name)
        if value is not None:
            plain = isinstance(value, int) or name == "topology"
            rows.append(f"  {name}: {value if plain else quoted(value)}")
    return rows


def quoted(text: str) -> str:
    """A double-quoted YAML scalar."""
    import json

    return json.dumps(text, ensure_ascii=False)


def _findings(findings: Sequence[Finding], width: int) -> Iterator[Line]:
    for found in findings:
        head = Part(f"{found.severity}[{found.code}]", found.severity)
        yield from wrapped(line(head), visible(found.message), width, "  ")
        if found.help:
            yield from wrapped(line(Part("   = ", "place"), "help:"), visible(found.help), width, " " * 11)


def _summary(findings: Sequence[Finding], unseen: Sequence[Unseen]) -> Line:
    counts = []
    for severity in SEVERITIES:
        number = sum(found.severity == severity for found in findings)
        if number:
            counts.append(f"{number} {severity}{'s' * (number != 1 and severity != 'info')}")
    rest = f"; {len(unseen)} not seen" if unseen else ""
    if not counts:
        return line(Part("nothing wrong", "good"), f" in what was seen{rest}")
    return line(Part(", ".join(counts), "bold"), rest)


def _size(number: int | None) -> str:
    return f"{(number or 0) / GIB:.1f} GiB"


def _clock(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
