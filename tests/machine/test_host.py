"""The host, from small trees of real files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from eaglecfg.machine.host import Limit, read_host
from eaglecfg.machine.places import Places


def write(root: Path, files: dict[str, str]) -> Places:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name in ("proc", "sys", "etc", "shm"):
        (root / name).mkdir(exist_ok=True)
    return Places(root / "proc", root / "sys", root / "etc", root / "shm", root)


def test_a_bare_machine_is_read(tmp_path: Path) -> None:
    places = write(
        tmp_path,
        {
            "proc/sys/kernel/osrelease": "6.8.0-50-generic\n",
            "proc/sys/kernel/numa_balancing": "1\n",
            "proc/meminfo": "MemTotal:       1056000000 kB\nMemFree: 1 kB\n",
            "proc/self/limits": "Limit                     Soft Limit           Hard Limit           Units\n"
            "Max open files            1024                 1048576              files\n"
            "Max locked memory         unlimited            unlimited            bytes\n",
            "proc/1/cgroup": "0::/init.scope\n",
            "proc/version": "Linux version 6.8.0\n",
            "proc/cpuinfo": "processor: 0\nflags\t\t: fpu vme\n",
            "sys/devices/system/node/node0/cpulist": "0-31\n",
            "sys/devices/system/node/node1/cpulist": "32-63\n",
            "sys/devices/system/node/possible": "0-1\n",
            "sys/class/iommu/dmar0/x": "",
            "sys/class/infiniband/mlx5_0/x": "",
        },
    )
    host = read_host({}, places)
    assert (host.kernel, host.container, host.sandbox) == ("6.8.0-50-generic", "", "")
    assert host.memory_bytes == 1056000000 * 1024
    assert (host.numa_nodes, host.numa_balancing, host.iommu) == (2, True, True)
    assert host.open_files == Limit(1024, 1048576)
    assert host.memlock_bytes == Limit(None, None)
    assert host.infiniband == ("mlx5_0",)
    assert host.acs_bridges is None
    assert host.shared_memory is not None
    assert host.shared_memory.total_bytes > 0


def test_an_empty_system_is_a_host_of_which_nothing_was_seen(tmp_path: Path) -> None:
    host = read_host({}, Places(*[tmp_path / "nowhere"] * 5))
    assert host.shared_memory is None
    assert (host.numa_nodes, host.numa_balancing, host.iommu, host.memory_bytes) == (None,) * 4
    assert (host.container, host.sandbox, host.infiniband) == ("", "", ())


@pytest.mark.parametrize(
    ("environ", "files", "name"),
    [
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, {".dockerenv": ""}, "kubernetes"),
        ({}, {".dockerenv": ""}, "docker"),
        ({}, {"run/.containerenv": ""}, "podman"),
        ({}, {"proc/1/cgroup": "12:memory:/kubepods/burstable/pod1/x\n"}, "kubernetes"),
        ({}, {"proc/1/cgroup": "1:name=systemd:/docker/0123\n"}, "docker"),
        ({"container": "lxc"}, {}, "lxc"),
    ],
)
def test_containers_have_names(
    tmp_path: Path, environ: dict[str, str], files: dict[str, str], name: str
) -> None:
    assert read_host(environ, write(tmp_path, files)).container == name


def test_sandboxes_and_guests_are_told(tmp_path: Path) -> None:
    guest = {"proc/cpuinfo": "flags : fpu hypervisor lm\n", "sys/class/dmi/id/product_name": "KVM\n"}
    assert read_host({}, write(tmp_path / "a", guest)).sandbox == "virtual machine (KVM)"
    gvisor = {"proc/version": "Linux version 4.4.0 (gVisor)\n"}
    assert read_host({}, write(tmp_path / "b", gvisor)).sandbox == "gVisor"


@pytest.mark.parametrize("text", ["", "Max open files\n", "Max open files x y files\n", "\0\xff\n"])
def test_limits_in_another_form_are_not_told(tmp_path: Path, text: str) -> None:
    assert read_host({}, write(tmp_path, {"proc/self/limits": text})).open_files is None


def bridge(root: Path, name: str, space: bytes, kind: str = "0x060400") -> None:
    folder = root / "sys/bus/pci/devices" / name
    folder.mkdir(parents=True)
    (folder / "class").write_text(f"{kind}\n")
    (folder / "config").write_bytes(space)


def config_space(control: int | None) -> bytes:
    space = bytearray(4096)
    space[0x100:0x104] = ((0x148 << 20) | 0x0001).to_bytes(4, "little")  # another capability first
    if control is not None:
        space[0x148:0x14C] = (0x000D).to_bytes(4, "little")
        space[0x14E:0x150] = control.to_bytes(2, "little")
    return bytes(space)


def test_access_control_is_found_in_the_configuration_of_bridges(tmp_path: Path) -> None:
    places = write(tmp_path, {})
    bridge(tmp_path, "0000:00:01.0", config_space(0x1D))
    bridge(tmp_path, "0000:00:02.0", config_space(0x00))
    bridge(tmp_path, "0000:00:03.0", config_space(None))
    bridge(tmp_path, "0000:01:00.0", config_space(0x1D), kind="0x030200")
    assert read_host({}, places).acs_bridges == ("0000:00:01.0",)


def test_access_control_that_is_hidden_or_broken_is_no_answer(tmp_path: Path) -> None:
    places = write(tmp_path, {})
    bridge(tmp_path, "0000:00:01.0", b"\0" * 64)  # what a user without rights is shown
    assert read_host({}, places).acs_bridges is None
    ring = bytearray(4096)
    ring[0x100:0x104] = ((0x100 << 20) | 0x0001).to_bytes(4, "little")
    bridge(tmp_path, "0000:00:02.0", bytes(ring))
    assert read_host({}, places).acs_bridges == ()


def test_this_machine_is_read() -> None:
    host = read_host(dict(os.environ), Places())
    assert host.kernel
    assert host.cpus is not None
