"""Which implementation carries one all-reduce of a given size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from eaglecfg.engines.numerals import engine_switch
from eaglecfg.engines.table import source_of
from eaglecfg.nccl.custom import across_nodes, custom_row, custom_shot, custom_shuts
from eaglecfg.nccl.engine_writes import Launch, engine_table
from eaglecfg.nccl.gpus import Gpu
from eaglecfg.nccl.version import at_least

CarrierName = Literal[
    "none",
    "fused",
    "custom",
    "mscclpp",
    "pcie_ipc",
    "torch_symm_mem",
    "nccl_symmetric",
    "nccl",
    "not_known",
]

DECIDES = frozenset(
    (
        "disable_custom_all_reduce",
        "dp_size",
        "dtype",
        "enable_deterministic_inference",
        "enable_dp_attention",
        "enable_flashinfer_allreduce_fusion",
        "enable_mscclpp",
        "enable_nccl_nvls",
        "enable_symm_mem",
        "enable_torch_symm_mem",
        "enforce_disable_flashinfer_allreduce_fusion",
        "ep_size",
        "flashinfer_allreduce_fusion_backend",
        "max_running_requests",
        "moe_a2a_backend",
        "nnodes",
        "pp_size",
        "tp_size",
    )
)
"""Server flags that may decide who carries an all-reduce, or how large it is."""

FUSED = "with the norm behind it"
"""How FlashInfer takes an all-reduce inside a layer."""

TITLES: Mapping[str, str] = {
    "none": "nothing",
    "fused": "FlashInfer's all-reduce",
    "custom": "the engine's own all-reduce",
    "mscclpp": "MSCCL++",
    "pcie_ipc": "FlashInfer's PCIe all-reduce",
    "torch_symm_mem": "torch's symmetric memory",
    "nccl_symmetric": "NCCL's symmetric kernels",
    "nccl": "NCCL",
    "not_known": "not known",
}
"""What each carrier is called in text."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What is declared of the machine: ``topology`` as the config spells it, ``gpu`` as its name tells."""

    topology: str | None
    gpu: Gpu | None

    def linked(self, ranks: int) -> bool:
        """Whether NVLink joins every pair of ``ranks`` on one node."""
        return self.topology == "nvswitch" or (self.topology == "nvlink-pair" and ranks == 2)


@dataclass(frozen=True, slots=True)
class Message:
    """One all-reduce: ``rows`` tokens, ``size`` bytes, of a ``dtype`` as torch names it. ``layer``: inside a
    layer that hands its all-reduce to the norm behind it, where the engine fuses the two. ``read``: that the
    class does so was read in its code."""

    rows: int
    size: int
    dtype: str = "bfloat16"
    layer: bool = True
    read: bool = True


@dataclass(frozen=True, slots=True)
class Taken:
    """Who takes a message. ``how`` names the kernel where one implementation has several. ``why`` is one
    clause. ``most``: bytes up to which the carrier takes such messages, None where there is no limit.
    ``wanted``: declarations that are missing where the carrier is not known. ``source``: a line of the
    engine. ``sure`` is false where the start decides, as ``why`` says: then NCCL may take over."""

    carrier: CarrierName
    why: str
    how: str = ""
    most: int | None = None
    source: str = ""
    wanted: tuple[str, ...] = ()
    sure: bool = True

    @property
    def nccl(self) -> bool:
        """Whether NCCL's settings may act on it."""
        return self.carrier in ("nccl", "nccl_symmetric", "not_known") or not self.sure


def all_reduce_path(launch: Launch, machine: Machine, message: Message, *, fusion: bool | None) -> Taken:
    """Who carries ``message`` in a CUDA graph of decode or verify. Pure.

    ``fusion``: whether the engine fuses all-reduces into norms for this target (``fusion_runs``), None where
    only the GPU is left to decide. What hardware would have to tell and is not declared gives ``not_known``.
    """
    if launch.tensor <= 1:
        return Taken("none", "one rank has nothing to reduce")
    if launch.flag("enable_dp_attention"):
        why = "with data-parallel attention the ranks gather and scatter instead, through NCCL for the most"
        return Taken("not_known", why)
    shut = custom_shuts(launch)
    taken = _fused(launch, machine, message, fusion)
    if taken is not None:
        return taken
    wanted = _wanted(launch, machine, shut)
    order = row_of("order", launch.version)
    for name in order.get("carriers", ()):
        taken = _TAKERS[name](launch, machine, message, shut)
        if taken is not None:
            if wanted and name not in ("mscclpp", "nccl_symmetric"):
                break
            return taken
    if wanted:
        return Taken("not_known", "the links between the GPUs decide", wanted=wanted)
    return Taken("nccl", _why_nccl(launch, machine, message, shut), source=_place(order))


def row_of(key: str, version: str) -> Mapping[str, Any]:
    """The row of a table by versions that is in force, empty where there is none."""
    return in_force(engine_table()[key], version) or {}


def in_force(rows: Any, version: str) -> Mapping[str, Any] | None:
    """The first of ``rows`` whose versions hold ``version``."""
    for row in rows:
        if at_least(version, row["since"]) and at_least(row.get("until", version), version):
            found: Mapping[str, Any] = row
            return found
    return None


def fusion_runs(launch: Launch, gpu: Gpu | None, *, automatic: bool) -> bool | None:
    """Whether the engine hands all-reduces to FlashInfer together with the norm behind them.

    ``automatic``: this version does so by itself for the target's class. None: the GPU is not named.
    """
    row = row_of("fusion", launch.version)
    asked = launch.flag("enable_flashinfer_allreduce_fusion") or launch.flag(
        "flashinfer_allreduce_fusion_backend"
    )
    stopped = launch.flag("enforce_disable_flashinfer_allreduce_fusion") or any(
        launch.flag(flag) for flag in row.get("not_with", ())
    )
    if launch.tensor <= 1 or stopped or launch.flag("enable_dp_attention"):
        return False
    by_itself = automatic and launch.flag("moe_a2a_backend") in (None, "none")
    if not asked and not by_itself:
        return False
    if gpu is None:
        return None
    if gpu.major not in (9, 10):
        return False
    return launch.nodes == 1 or (gpu.fabric and at_least(launch.version, "0.5.14"))


def _fused(launch: Launch, machine: Machine, message: Message, fusion: bool | None) -> Taken | None:
    row = row_of("fusion", launch.version)
    reaches = message.layer or row.get("every_call", False)
    if fusion is False or not reaches or message.rows > row.get("most_rows", 0):
        return None
    missing = [] if machine.topology else ["hardware.topology"]
    if fusion is None:
        missing.append("hardware.gpu")
    if missing and not (machine.topology and not machine.linked(launch.tensor)):
        return Taken("not_known", "FlashInfer's fusion depends on the GPU", wanted=tuple(missing))
    if fusion is None or not machine.linked(launch.tensor):
        return None
    sure = message.read or row.get("every_call", False)
    why = f"fused into the norm behind it, up to {row['most_rows']} tokens"
    if not message.layer:
        why = f"where fusion is on, this version hands it every all-reduce, up to {row['most_rows']} tokens"
    elif not sure:
        why += "; as asked, as far as the target's class hands its all-reduces over"
    return Taken(
        "fused",
        why,
        how=FUSED if message.layer else "alone",
        sure=sure,
        most=message.size // max(message.rows, 1) * int(row["most_rows"]),
        source=_place(row),
    )


def _wanted(launch: Launch, machine: Machine, shut: str) -> tuple[str, ...]:
    """Declarations without which nothing can be said about the engine's own all-reduce."""
    if launch.nodes > 1:
        if machine.gpu is None and not shut and across_nodes(launch) is not None:
            return ("hardware.gpu",)
        return ()
    if machine.topology is None and not (shut and not _other(launch)):
        return ("hardware.topology",)
    return ()


def _other(launch: Launch) -> bool:
    """Whether something besides the engine's own all-reduce could take a message."""
    return bool(launch.flag("enable_torch_symm_mem") or _on(launch, "SGLANG_ENABLE_PCIE_IPC_ALLREDUCE"))


def _on(launch: Launch, name: str) -> bool:
    return engine_switch(launch.env.get(name, "")) is True


def _place(row: Mapping[str, Any]) -> str:
    return source_of(row) if row else ""


def _custom(launch: Launch, machine: Machine, message: Message, shut: str) -> Taken | None:
    if shut or message.size % 16:
        return None
    linked = machine.linked(launch.tensor) and launch.nodes == 1
    if launch.nodes > 1:
        return _over_fabric(launch, machine, message)
    row = custom_row(launch, machine.gpu, linked=linked)
    if row is None:
        return None
    how, most = custom_shot(launch, row, machine.gpu, message.size)
    if message.size > most:
        return None
    why = "over NVLink" if linked else "for two ranks it works over PCIe too"
    why, sure = f"{why}, up to {size_words(most)}", linked or not _consumer(machine)
    if not sure:
        why += (
            "; if the driver lets these GPUs reach each other: the stock driver does not, and NCCL takes over"
        )
    return Taken("custom", why, how, most, _place(row), sure=sure)


def _over_fabric(launch: Launch, machine: Machine, message: Message) -> Taken | None:
    fact = across_nodes(launch)
    if fact is None or machine.gpu is None or not machine.gpu.fabric:
        return None
    if "expandable_segments:True" not in launch.env.get("PYTORCH_CUDA_ALLOC_CONF", ""):
        return None
    row = custom_row(launch, machine.gpu, linked=True)
    if row is None:
        return None
    how, most = custom_shot(launch, row, machine.gpu, message.size)
    if message.size > most:
        return None
    why = f"NVLink reaches the other nodes, and memory is mapped for it; up to {size_words(most)}"
    return Taken("custom", why, how, most, _place(fact))


def _consumer(machine: Machine) -> bool:
    """Whether the stock driver keeps these GPUs from reaching each other over PCIe."""
    return machine.gpu is not None and machine.gpu.consumer


def _mscclpp(launch: Launch, machine: Machine, message: Message, shut: str) -> Taken | None:
    row = row_of("mscclpp", launch.version)
    if not launch.flag("enable_mscclpp") or not row or launch.tensor not in row["sizes"]:
        return None
    most = row.get("most_bytes")
    if most is not None and message.size > most:
        return None
    why = "--enable-mscclpp" if most else "--enable-mscclpp, for the sizes that its trial at start settles"
    return Taken("mscclpp", why, most=most, source=_place(row), sure=most is not None)


def _symmetric(launch: Launch, machine: Machine, message: Message, shut: str) -> Taken | None:
    if not launch.flag("enable_symm_mem"):
        return None
    source = _place(row_of("order", launch.version))
    if machine.topology is not None and launch.nodes == 1 and not machine.linked(launch.tensor):
        why = "--enable-symm-mem sends it to NCCL, whose symmetric kernels need NVLink between all ranks"
        return Taken("nccl", why, source=source)
    return Taken("nccl_symmetric", "--enable-symm-mem", source=source)


def _pcie_ipc(launch: Launch, machine: Machine, message: Message, shut: str) -> Taken | None:
    row = row_of("pcie_ipc", launch.version)
    if not row or not _on(launch, row["variable"]) or launch.flag("enable_deterministic_inference"):
        return None
    if launch.tensor not in row["sizes"] or message.dtype != row["dtype"] or launch.nodes > 1:
        return None
    return Taken(
        "pcie_ipc", f"{row['variable']}, up to the largest decode batch", source=_place(row), sure=False
    )


def _torch_symmetric(launch: Launch, machine: Machine, message: Message, shut: str) -> Taken | None:
    row = row_of("torch_symm_mem", launch.version)
    if not launch.flag("enable_torch_symm_mem") or not row or message.dtype != row["dtype"]:
        return None
    most = row["most_bytes"].get(str(launch.tensor))
    switched = machine.topology in (None, "nvswitch") and launch.nodes == 1
    capable = machine.gpu is not None and machine.gpu.major in row["capabilities"]
    if most is None or not switched or not capable or message.size >= most:
        return None
    why = f"--enable-torch-symm-mem, below {size_words(most)}"
    return Taken("torch_symm_mem", why, most=most, source=_place(row))


_TAKERS = {
    "custom": _custom,
    "mscclpp": _mscclpp,
    "nccl_symmetric": _symmetric,
    "pcie_ipc": _pcie_ipc,
    "torch_symm_mem": _torch_symmetric,
}


def _why_nccl(launch: Launch, machine: Machine, message: Message, shut: str) -> str:
    if shut:
        return shut
    if launch.nodes > 1:
        if machine.gpu is not None and machine.gpu.fabric and across_nodes(launch) is not None:
            return (
                "the ranks are on several nodes, and without expandable_segments:True in "
                "PYTORCH_CUDA_ALLOC_CONF the engine's own all-reduce stays on one"
            )
        return "the ranks are on several nodes"
    if message.size % 16:
        return f"the engine's own all-reduce takes multiples of 16 bytes, and {message.size} is none"
    linked = machine.linked(launch.tensor)
    row = custom_row(launch, machine.gpu, linked=linked)
    if row is None and linked:
        return f"the engine's own all-reduce does not know {launch.tensor} ranks"
    if row is not None:
        most = custom_shot(launch, row, machine.gpu, message.size)[1]
        return (
            f"{size_words(message.size)} are more than the {size_words(most)} of the engine's own all-reduce"
        )
    if launch.tensor == 2:
        return f"without NVLink sglang {launch.version} has no all-reduce of its own for two ranks"
    return "more than two ranks without NVLink between all of them"


def size_words(size: int) -> str:
    """Bytes as people say them: 56 KiB, 1.75 MiB."""
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.2f}".rstrip("0").rstrip(".") + f" {unit}"
    return f"{size} bytes"
