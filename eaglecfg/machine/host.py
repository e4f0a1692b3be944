"""The host around the GPUs: what it runs in, its limits, its memory, and what stands between its devices."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from eaglecfg.machine.places import Places, first_line
from eaglecfg.record import record

BRIDGE_CLASS = "0x0604"
ACS, ACS_REDIRECTS = 0x0D, 0x0C
"""PCIe extended capability of access control, and its control bits that send peer traffic through the root
(P2P request redirect, P2P completion redirect)."""
MOST_DEVICES = 4096


@record
class Limit:
    """A limit of this shell; None is no limit."""

    soft: int | None
    hard: int | None


@record
class SharedMemory:
    """The file system of shared memory."""

    path: str
    total_bytes: int
    free_bytes: int


@record
class Host:
    """None and empty where it could not be seen.

    ``container``: docker, podman, kubernetes, or what it says about itself; ``sandbox``: gVisor's, or the
    hypervisor's. ``memory_bytes`` and ``cpus`` are what this process may use. ``numa_balancing``: the
    kernel moves pages between nodes by itself. ``iommu``: IOMMU units are on; ``acs_bridges``: PCIe bridges
    that send traffic between GPUs through the root, None where that is hidden.
    """

    kernel: str
    container: str
    sandbox: str
    cpus: int | None
    memory_bytes: int | None
    shared_memory: SharedMemory | None
    memlock_bytes: Limit | None
    open_files: Limit | None
    numa_nodes: int | None
    numa_balancing: bool | None
    iommu: bool | None
    acs_bridges: tuple[str, ...] | None
    infiniband: tuple[str, ...]


NO_HOST = Host("", "", "", None, None, None, None, None, None, None, None, None, ())
"""A host of which nothing was seen."""


def read_host(environ: Mapping[str, str], places: Places) -> Host:
    """The host as this process sees it."""
    balancing = first_line(places.proc / "sys/kernel/numa_balancing")
    nodes = [name for name in _names(places.sys / "devices/system/node") if name[4:].isdecimal()]
    units = places.sys / "class/iommu"
    return Host(
        kernel=first_line(places.proc / "sys/kernel/osrelease") or platform.release(),
        container=_container(environ, places),
        sandbox=_sandbox(places),
        cpus=_cpus(),
        memory_bytes=_memory(places),
        shared_memory=_shared_memory(places.shm),
        memlock_bytes=_limit(places, "Max locked memory"),
        open_files=_limit(places, "Max open files"),
        numa_nodes=len(nodes) or None,
        numa_balancing=balancing != "0" if balancing else None,
        iommu=bool(_names(units)) if units.is_dir() else None,
        acs_bridges=_acs_bridges(places.sys / "bus/pci/devices"),
        infiniband=tuple(_names(places.sys / "class/infiniband")),
    )


def _names(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except OSError:
        return []


def _container(environ: Mapping[str, str], places: Places) -> str:
    if environ.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    if (places.root / ".dockerenv").exists():
        return "docker"
    if (places.root / "run/.containerenv").exists():
        return "podman"
    with suppress(OSError):
        groups = (places.proc / "1/cgroup").read_text(errors="replace")
        for word, name in (("kubepods", "kubernetes"), ("docker", "docker"), ("libpod", "podman")):
            if word in groups:
                return name
    return environ.get("container", "")


def _sandbox(places: Places) -> str:
    """gVisor tells itself by its version line; hypervisors by the processor's flag and the board's name."""
    if "gvisor" in first_line(places.proc / "version").lower():
        return "gVisor"
    with suppress(OSError), (places.proc / "cpuinfo").open(errors="replace") as stream:
        flags = next((line for line in stream if line.startswith("flags")), "")
        if " hypervisor" in flags:
            board = first_line(places.sys / "class/dmi/id/product_name")
            return f"virtual machine ({board})" if board else "virtual machine"
    return ""


def _cpus() -> int | None:
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return os.cpu_count()


def _memory(places: Places) -> int | None:
    with suppress(OSError, ValueError, IndexError):
        for line in (places.proc / "meminfo").read_text().splitlines():
            if line.startswith("MemTotal:"):
                return int(line.split()[1]) * 1024
    return None


def _shared_memory(folder: Path) -> SharedMemory | None:
    try:
        found = os.statvfs(folder)
    except OSError:
        return None
    return SharedMemory(str(folder), found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)


def _limit(places: Places, name: str) -> Limit | None:
    with suppress(OSError, ValueError, IndexError):
        for line in (places.proc / "self/limits").read_text().splitlines():
            if line.startswith(name):
                soft, hard = line[len(name) :].split()[:2]
                return Limit(*(None if each == "unlimited" else int(each) for each in (soft, hard)))
    return None


def _acs_bridges(devices: Path) -> tuple[str, ...] | None:
    """Bridges with redirection on. Only root is shown the part of the configuration that says so."""
    found, seen = [], False
    for name in _names(devices)[:MOST_DEVICES]:
        if not first_line(devices / name / "class").startswith(BRIDGE_CLASS):
            continue
        try:
            space = (devices / name / "config").read_bytes()
        except OSError:
            continue
        if len(space) < 4096:
            continue
        seen = True
        if any(control & ACS_REDIRECTS for control in _acs_controls(space)):
            found.append(name)
    return tuple(found) if seen else None


def _acs_controls(space: bytes) -> Iterator[int]:
    """The control word of the access control capability, out of a device's configuration space."""
    at, left = 0x100, 64  # the chain may be broken, or a ring
    while at >= 0x100 and at + 8 <= len(space) and left:
        header = int.from_bytes(space[at : at + 4], "little")
        if header & 0xFFFF == ACS:
            yield int.from_bytes(space[at + 6 : at + 8], "little")
        at, left = header >> 20, left - 1
