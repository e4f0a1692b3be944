"""What is wrong with the GPUs and the links between them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from eaglecfg.machine.findings import Finding, Severity
from eaglecfg.machine.gpus import Gpu
from eaglecfg.machine.links import Links, Pair
from eaglecfg.machine.survey import Machine
from eaglecfg.nccl.gpus import gpu_of

GIB = 1 << 30
EMPTY_BYTES = GIB
"""An idle driver keeps some hundred MiB; a server of any size holds more than this."""

SLOWED: dict[str, tuple[Severity, str]] = {
    "hardware slowdown": (
        "error",
        "the board slows the GPU down: look at temperature, power cables, airflow",
    ),
    "hardware thermal slowdown": ("error", "the GPU is too hot: look at airflow and inlet temperature"),
    "power brake": ("error", "the chassis asks the GPU to slow down: look at the power supplies"),
    "software thermal slowdown": ("warning", "the GPU is near its temperature limit: look at the airflow"),
    "power cap": ("info", "expected under load; while idle it means a low limit (nvidia-smi -q -d POWER)"),
    "application clocks": ("warning", "somebody has set lower clocks; nvidia-smi -rac and -rgc undo it"),
    "sync boost": ("info", "the GPU waits for others of its sync boost group"),
    "display clocks": ("info", "a display sets the clocks"),
}


def check_gpus(machine: Machine) -> Iterator[Finding]:
    """All findings about GPUs, in their order, then about links."""
    servers = {pid for server in machine.servers for pid in server.processes}
    for gpu in machine.visible_gpus:
        for look in LOOKS:
            yield from look(gpu)
        yield from _held(gpu, servers)
    yield from _mixed(machine.visible_gpus)
    if machine.links is not None:
        yield from _links(machine, machine.links)


def _held(gpu: Gpu, servers: Collection[int]) -> Iterator[Finding]:
    used, processes = gpu.memory_used_bytes, gpu.processes or ()
    if processes and all(one.pid in servers for one in processes):
        return  # the server is a finding of its own
    if (used is None or used < EMPTY_BYTES) and not processes:
        return
    shown = f"{used / GIB:.1f} GiB used" if used is not None else "in use"
    who = ", ".join(f"pid {one.pid} ({one.name or 'not shown here'})" for one in processes[:4])
    who += f" and {len(processes) - 4} more" if len(processes) > 4 else ""
    yield Finding(
        "gpu-not-empty",
        "warning",
        f"GPU {gpu.index} is not empty: {shown}" + (f" by {who}" if who else " by nobody that is shown"),
        "a server sizes its cache by what is free, and measurements beside other work mean nothing: "
        + ("end those processes, or choose another GPU" if who else "look outside this container"),
        {"gpu": gpu.index, "used_bytes": used, "pids": [one.pid for one in processes]},
    )


def _slowed(gpu: Gpu) -> Iterator[Finding]:
    for reason in gpu.throttled or ():
        severity, help_ = SLOWED[reason]
        clock = f" at {gpu.sm_clock_mhz} of {gpu.sm_clock_max_mhz} MHz" if gpu.sm_clock_mhz else ""
        values = {"gpu": gpu.index, "reason": reason, "celsius": gpu.celsius}
        yield Finding(
            "gpu-throttled", severity, f"GPU {gpu.index} is held back{clock}: {reason}", help_, values
        )


def _limited(gpu: Gpu) -> Iterator[Finding]:
    limit, default = gpu.power_limit_watts, gpu.power_default_watts
    if limit is not None and default is not None and limit < default - 1:
        yield Finding(
            "gpu-power-limit",
            "warning",
            f"GPU {gpu.index} is limited to {limit:g} W, below its default of {default:g} W",
            f"numbers measured here hold for this limit; nvidia-smi -i {gpu.index} -pl {default:g} lifts it",
            {"gpu": gpu.index, "limit_watts": limit, "default_watts": default},
        )


def _ailing(gpu: Gpu) -> Iterator[Finding]:
    values = {"gpu": gpu.index}
    if gpu.ecc_uncorrected:
        yield Finding(
            "gpu-memory-errors",
            "error",
            f"GPU {gpu.index} counts {gpu.ecc_uncorrected} uncorrected memory errors since its start",
            "drain and reset it; if they come back, have it replaced",
            {**values, "errors": gpu.ecc_uncorrected},
        )
    if gpu.rows_failed:
        yield Finding(
            "gpu-memory-errors",
            "error",
            f"GPU {gpu.index} could not replace a broken row of its memory",
            "have it replaced",
            values,
        )
    elif gpu.rows_pending:
        yield Finding(
            "gpu-reset-needed",
            "warning",
            f"GPU {gpu.index} waits for a reset to replace broken rows of its memory",
            "reset it when nothing runs on it",
            values,
        )
    if gpu.ecc is False:
        yield Finding(
            "gpu-ecc-off",
            "info",
            f"ECC is off on GPU {gpu.index}",
            "flipped bits go unseen; nvidia-smi -e 1 and a reset turn it on",
            values,
        )


def _mode(gpu: Gpu) -> Iterator[Finding]:
    values = {"gpu": gpu.index}
    if gpu.mig:
        yield Finding(
            "gpu-mig",
            "warning",
            f"MIG is on at GPU {gpu.index}: a server sees slices, which cannot reach each other",
            "tensor parallelism needs whole GPUs; nvidia-smi -mig 0 turns it off",
            values,
        )
    if gpu.compute_mode == "prohibited":
        yield Finding(
            "gpu-compute-mode",
            "error",
            f"GPU {gpu.index} is in compute mode prohibited: CUDA cannot use it",
            f"nvidia-smi -i {gpu.index} -c 0",
            values,
        )
    elif gpu.compute_mode in ("exclusive process", "exclusive thread"):
        yield Finding(
            "gpu-compute-mode",
            "warning",
            f"GPU {gpu.index} is in compute mode {gpu.compute_mode}: a second process on it fails",
            f"nvidia-smi -i {gpu.index} -c 0",
            values,
        )
    if gpu.persistence is False:
        yield Finding(
            "gpu-persistence-off",
            "info",
            f"persistence mode is off on GPU {gpu.index}",
            "the driver may unload it between launches, which makes starts slower; nvidia-smi -pm 1",
            values,
        )
    if gpu.pcie_width and gpu.pcie_width_max and gpu.pcie_width < gpu.pcie_width_max:
        yield Finding(
            "gpu-pcie-width",
            "warning",
            f"GPU {gpu.index} runs at {gpu.pcie_width} PCIe lanes of {gpu.pcie_width_max}",
            "look at the slot and the riser",
            {**values, "lanes": gpu.pcie_width, "lanes_max": gpu.pcie_width_max},
        )
    if gpu.fabric in ("not started", "in progress", "failed"):
        yield Finding(
            "gpu-fabric",
            "error",
            f"the NVLink fabric of GPU {gpu.index} is not ready ({gpu.fabric}): CUDA fails with error 802",
            "start the fabric manager (systemctl status nvidia-fabricmanager), or wait for it",
            {**values, "fabric": gpu.fabric},
        )


def _unknown(gpu: Gpu) -> Iterator[Finding]:
    if gpu.name and gpu_of(gpu.name) is None:
        yield Finding(
            "gpu-unknown",
            "info",
            f"eaglecfg does not know GPU {gpu.index}, {gpu.name}",
            "checks that depend on the GPU will say that they were not decided",
            {"gpu": gpu.index, "name": gpu.name},
        )


LOOKS: tuple[Callable[[Gpu], Iterator[Finding]], ...] = (_ailing, _mode, _slowed, _limited, _unknown)


def _mixed(gpus: tuple[Gpu, ...]) -> Iterator[Finding]:
    kinds = sorted({(gpu.name, gpu.memory_total_bytes or 0) for gpu in gpus})
    if len(kinds) > 1:
        names = ", ".join(f"{name} ({size / GIB:.0f} GiB)" for name, size in kinds)
        yield Finding(
            "gpus-differ",
            "warning",
            f"the GPUs are of different kinds: {names}",
            "the slowest and smallest sets the pace of all ranks; choose alike ones by CUDA_VISIBLE_DEVICES",
            {"kinds": [name for name, _ in kinds]},
        )


def _links(machine: Machine, links: Links) -> Iterator[Finding]:
    refused = [pair for pair in links.pairs if pair.p2p not in (None, "ok")]
    if refused:
        first = refused[0]
        severity, help_ = _p2p_advice(machine, first)
        yield Finding(
            "p2p-off",
            severity,
            f"{len(refused)} of {len(links.pairs)} pairs of GPUs cannot reach each other's memory, as GPU "
            f"{first.first} and GPU {first.second}: {first.p2p}",
            help_,
            {"pairs": [[pair.first, pair.second] for pair in refused], "why": first.p2p},
        )
    if links.topology == "nvswitch" and not all(pair.switched for pair in links.pairs):
        yield Finding(
            "no-switch",
            "info",
            "NVLink joins every pair directly; the block says nvswitch, its word for all pairs in one hop",
            "NVLink SHARP (NCCL_NVLS_ENABLE, --enable-nccl-nvls) needs real switches and will not run",
        )
    bridges = machine.host.acs_bridges
    if links.topology == "pcie" and bridges and not machine.host.sandbox:
        yield Finding(
            "pcie-acs",
            "warning",
            f"PCIe access control sends GPU traffic through the root, at {len(bridges)} bridges",
            "P2P is slow or hangs with it; turn ACS off in the BIOS where the machine hosts no guests",
            {"bridges": list(bridges)},
        )
    if links.topology == "pcie" and machine.host.iommu and not machine.host.sandbox:
        yield Finding(
            "iommu-on",
            "info",
            "the IOMMU is on, and GPUs talk over PCIe",
            "if P2P hangs or gives wrong data, boot with iommu=pt or turn it off",
        )


def _p2p_advice(machine: Machine, pair: Pair) -> tuple[Severity, str]:
    name = next((gpu.name for gpu in machine.gpus if gpu.index == pair.first), "")
    known = gpu_of(name)
    if pair.nvlink:
        return (
            "error",
            "NVLink is there but not usable; look at the fabric manager and at nvidia-smi topo -p2p r",
        )
    if known is not None and known.consumer:
        return "info", "the stock driver has no P2P for this GPU; NCCL goes through host memory (/dev/shm)"
    return "warning", (
        "NCCL goes through host memory then; look at ACS, the IOMMU and the driver (nvidia-smi topo -p2p r)"
    )
