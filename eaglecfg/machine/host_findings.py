"""What is wrong with the host: shared memory, limits, servers that are left, ports that are taken."""

from __future__ import annotations

import time
from collections.abc import Iterator

from eaglecfg.machine.findings import Finding
from eaglecfg.machine.host import Host
from eaglecfg.machine.servers import Server
from eaglecfg.machine.survey import Machine

MIB, GIB = 1 << 20, 1 << 30
SHARED_SMALL_BYTES = GIB
"""NVIDIA's advice for containers that run NCCL (--shm-size=1g); Docker gives 64 MiB."""
SHARED_FULL_BYTES = 64 * MIB
FILES_FEW = 4096
"""A server holds some hundred files and sockets for itself, and one for each request that is open."""


def check_host(machine: Machine) -> Iterator[Finding]:
    """All findings about the host."""
    yield from _shared_memory(machine)
    yield from _limits(machine.host)
    for server in machine.servers:
        yield _server(server)
    yield from _ports(machine)
    if machine.host.numa_balancing and (machine.host.numa_nodes or 1) > 1:
        yield Finding(
            "numa-balancing",
            "info",
            "the kernel moves memory between NUMA nodes by itself, which disturbs what feeds the GPUs",
            "sysctl kernel.numa_balancing=0 turns it off",
        )


def _shared_memory(machine: Machine) -> Iterator[Finding]:
    shared = machine.host.shared_memory
    if shared is None or len(machine.visible_gpus) == 1:
        return
    values = {"total_bytes": shared.total_bytes, "free_bytes": shared.free_bytes}
    larger = (
        "start the container with --shm-size=32g or --ipc=host"
        if machine.host.container
        else (f"mount -o remount,size=32G {shared.path}")
    )
    if shared.free_bytes <= SHARED_FULL_BYTES:
        full = shared.total_bytes > SHARED_FULL_BYTES * 2
        yield Finding(
            "shared-memory-full" if full else "shared-memory-small",
            "error",
            f"{shared.path} has {shared.free_bytes // MIB} MiB left of {shared.total_bytes // MIB} MiB: NCCL "
            "fails when its ranks cannot share memory there",
            f"remove what dead processes left in {shared.path} (ls -l {shared.path})" if full else larger,
            values,
        )
    elif shared.total_bytes < SHARED_SMALL_BYTES:
        yield Finding(
            "shared-memory-small",
            "warning",
            f"{shared.path} has {shared.total_bytes // MIB} MiB; NCCL over many ranks needs up to 1 GiB",
            larger,
            values,
        )


def _limits(host: Host) -> Iterator[Finding]:
    locked, files = host.memlock_bytes, host.open_files
    if host.infiniband and locked is not None and locked.soft is not None:
        yield Finding(
            "memlock-limited",
            "warning",
            f"this shell may lock {locked.soft // MIB} MiB of memory, and InfiniBand locks its buffers",
            "ulimit -l unlimited, or start the container with --ulimit memlock=-1",
            {"soft_bytes": locked.soft, "devices": list(host.infiniband)},
        )
    if files is not None and files.soft is not None and files.soft < FILES_FEW:
        yield Finding(
            "open-files-few",
            "info" if files.hard is None or files.hard >= FILES_FEW else "warning",
            f"this shell may open {files.soft} files, which many requests at once use up",
            f"ulimit -n {files.hard if files.hard is not None and files.hard >= FILES_FEW else 65536}",
            {"soft": files.soft, "hard": files.hard},
        )


def _server(server: Server) -> Finding:
    values = {"pid": server.pid, "marker": server.marker, "supervised": server.supervised}
    held = f", holding {server.gpu_bytes / GIB:.1f} GiB of GPU memory" if server.gpu_bytes else ""
    since = (
        f" since {time.strftime('%Y-%m-%d %H:%M', time.localtime(server.started))}" if server.started else ""
    )
    who = f"pid {server.pid} of {server.user or 'somebody'}{since}{held}"
    if server.marker and server.supervised:
        return Finding(
            "study-running",
            "warning",
            f"eaglecfg tune has a server running now: {who}",
            "start nothing else on its GPUs until the study has ended",
            values,
        )
    if server.marker:
        return Finding(
            "server-left",
            "error",
            f"a server of eaglecfg tune outlived its supervisor: {who}",
            f"going on with its study ends it; otherwise kill {server.pid}",
            values,
        )
    return Finding(
        "server-running",
        "warning",
        f"an SGLang server runs already: {who}",
        f"if nobody needs it: kill {server.pid}",
        values,
    )


def _ports(machine: Machine) -> Iterator[Finding]:
    ports = machine.ports
    if ports is None:
        return
    for taken in ports.taken:
        who = f"pid {taken.pid} ({taken.command})" if taken.pid is not None else "a process that is not shown"
        own = taken.port == ports.port
        yield Finding(
            "port-taken",
            "warning" if own else "info",
            f"port {taken.port} is taken by {who}"
            + ("" if own else f"; a server on port {ports.port} may want it for itself"),
            "start the server with another --port"
            if own
            else "if the server complains about it, choose another --port",
            {"port": taken.port, "pid": taken.pid},
        )
    room = ports.range_last - ports.range_first + 1
    if ports.range_listening > room // 2:
        yield Finding(
            "tune-ports-taken",
            "warning",
            f"{ports.range_listening} of the ports {ports.range_first} to {ports.range_last} are taken, and "
            "tune takes its servers' ports from there",
            "look at what listens there (ss -ltnp)",
        )
