"""The whole look at a machine. Reads only: nothing is started but the serving Python, for a question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TypeVar

from eaglecfg.machine.environment import ConfFile, read_conf_files, relevant
from eaglecfg.machine.gpus import Gpu, read_gpus
from eaglecfg.machine.host import NO_HOST, Host, read_host
from eaglecfg.machine.links import Links, read_links
from eaglecfg.machine.nvml import NoNvml, Nvml
from eaglecfg.machine.places import Places, first_line
from eaglecfg.machine.ports import FIRST, LAST
from eaglecfg.machine.python import ServingPython, ask_python, cuda_version
from eaglecfg.machine.servers import DEFAULT_PORT, Ports, Server, find_servers, look_at_ports
from eaglecfg.record import record

T = TypeVar("T")

PYTHON_LIMIT_S = 20.0
"""Seconds for the serving Python; it takes 0.1, and longer where a cold disk or a network folder does."""


@record
class Unseen:
    """Something that could not be looked at: what, why, and what would show it."""

    what: str
    why: str
    help: str = ""


@record
class EngineStanding:
    """How the installed engine stands to what eaglecfg knows: ``known``, ``between``, ``newer``, ``older`` or
    ``development``; ``facts_of`` is the version whose facts apply."""

    version: str
    standing: str
    facts_of: str


@record
class Machine:
    """What was seen. ``environment`` is of this shell, with secrets hidden."""

    host: Host
    python: ServingPython
    driver: str = ""
    cuda_driver: str = ""
    gpus: tuple[Gpu, ...] = ()
    links: Links | None = None
    engine: EngineStanding | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    conf_files: tuple[ConfFile, ...] = ()
    servers: tuple[Server, ...] = ()
    ports: Ports | None = None
    unseen: tuple[Unseen, ...] = ()

    @property
    def visible_gpus(self) -> tuple[Gpu, ...]:
        """Those that CUDA_VISIBLE_DEVICES leaves to a server started here."""
        return tuple(gpu for gpu in self.gpus if gpu.visible)


def survey(
    nvml: Nvml | NoNvml,
    python: str,
    environ: Mapping[str, str],
    places: Places,
    own_pid: int,
    *,
    port: int = DEFAULT_PORT,
    limit_s: float = PYTHON_LIMIT_S,
) -> Machine:
    """Look at everything.

    ``python`` is the Python that will serve, asked with ``environ``; ``port`` where a server will listen;
    ``own_pid`` is left out of the servers that run. Raises UsageError where ``python`` cannot be started.
    """
    look = _Look()
    gpus: tuple[Gpu, ...] = ()
    links = None
    driver, cuda = _driver_of(places), ""
    if isinstance(nvml, Nvml):
        visible = environ.get("CUDA_VISIBLE_DEVICES")
        gpus = look.at("GPUs", lambda: read_gpus(nvml, visible, places), ())
        links = look.at("links", lambda: read_links(nvml, [gpu for gpu in gpus if gpu.visible]), None)
        driver = str(nvml.ask("SystemGetDriverVersion") or driver)
        cuda = cuda_version(nvml.ask("SystemGetCudaDriverVersion") or 0)
    serving = ask_python(python, environ, limit_s)
    host = look.at("the host", lambda: read_host(environ, places), None) or NO_HOST
    ports = look.at("ports", lambda: look_at_ports(places.proc, port, FIRST, LAST), None)
    return Machine(
        host=host,
        python=serving,
        driver=driver,
        cuda_driver=cuda or serving.cuda_driver,
        gpus=gpus,
        links=links,
        engine=_standing(serving.sglang),
        environment=relevant(environ),
        conf_files=look.at("nccl.conf", lambda: read_conf_files(environ, places), ()),
        servers=look.at("servers", lambda: find_servers(places.proc, gpus, own_pid), ()),
        ports=ports,
        unseen=(*look.failed, *_unseen(nvml, gpus, links, serving, host, ports, _listed(places))),
    )


class _Look:
    """Looks at one part after the other. What the kernel or a driver shows in a form that nobody foresaw must
    not cost the rest: the part then counts as not seen, with the error."""

    def __init__(self) -> None:
        self.failed: list[Unseen] = []

    def at(self, what: str, look: Callable[[], T], otherwise: T) -> T:
        try:
            return look()
        except Exception as error:
            why = f"looking failed: {type(error).__name__}: {error}"
            self.failed.append(Unseen(what, why, "this is a fault of eaglecfg"))
            return otherwise


def _driver_of(places: Places) -> str:
    """The kernel module's version, which is shown without NVML as well."""
    words = first_line(places.proc / "driver/nvidia/version").split()
    return next((word for word in words if word.count(".") >= 1 and word[0].isdigit()), "")


def _listed(places: Places) -> int:
    try:
        return sum(1 for _ in (places.proc / "driver/nvidia/gpus").iterdir())
    except OSError:
        return 0


def _standing(version: str) -> EngineStanding | None:
    if not version:
        return None
    from eaglecfg.engines.table import known_versions, stand

    found = stand(version, known_versions("sglang"))
    return EngineStanding(version, found[1], found[0]) if found is not None else None


def _unseen(
    nvml: Nvml | NoNvml,
    gpus: tuple[Gpu, ...],
    links: Links | None,
    python: ServingPython,
    host: Host,
    ports: Ports | None,
    listed: int,
) -> list[Unseen]:
    out = []
    if isinstance(nvml, NoNvml):
        there = f"; the kernel driver lists {listed} GPU{'s' * (listed != 1)}" if listed else ""
        out.append(Unseen("GPUs and their links", f"{nvml.why}{there}", nvml.help))
    elif not gpus:
        out.append(Unseen("GPUs and their links", "NVML runs, but shows no GPU", "run nvidia-smi -L"))
    elif links is not None and links.topology is None:
        out.append(Unseen("topology", links.why, "run nvidia-smi topo -m, and declare hardware.topology"))
    name = "--python names the Python of the server"
    if python.trouble:
        out.append(Unseen(f"all of {python.executable}", python.trouble, name))
    elif not python.torch:
        out.append(Unseen("torch and NCCL", f"{python.executable} has no torch", name))
    elif not python.torch_cuda:
        out.append(Unseen("NCCL", f"torch {python.torch} of {python.executable} is built without CUDA", name))
    elif python.nccl_torch is None or not python.nccl_torch.version:
        why = python.nccl_torch.error if python.nccl_torch is not None else "it was not told"
        if python.nccl_torch is not None and python.nccl_torch.why == "static":
            why = "it is linked into torch"
        out.append(Unseen("version of NCCL", why, "declare hardware.nccl_version"))
    if not python.trouble and not python.sglang:
        out.append(Unseen("SGLang", f"{python.executable} has none", name))
    if host.shared_memory is None:
        out.append(Unseen("shared memory", "/dev/shm cannot be looked at"))
    if ports is None:
        out.append(Unseen("ports", "the kernel shows no table of sockets here (/proc/net/tcp)"))
    if links is not None and links.topology == "pcie" and host.acs_bridges is None:
        out.append(Unseen("PCIe access control", "only root is shown it", "run as root, or lspci -vvv"))
    return out
