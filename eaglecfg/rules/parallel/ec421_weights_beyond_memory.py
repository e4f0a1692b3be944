"""EC421: weights that no GPU of the deployment can hold."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.quantization import declared
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.parallel.memory import GIB, bytes_of, gib
from eaglecfg.rules.parallel.ranks import ranks, unsettled

ELSEWHERE = (
    *("quantization", "torchao_config", "modelopt_quant", "quantize_and_serve", "rl_quant_profile"),
    *("encoder_only", "language_only", "custom_weight_loader", "json_model_override_args"),
    *("weight_cache_mode", "startup_weight_load_mode", "dwdp_size"),
    *("elastic_ep_initial_size", "max_ep_size"),
)
"""Flags with which the engine holds fewer bytes, or holds them elsewhere, in ways that are not counted."""

OFFLOAD = "cpu_offload_gb"

AS_STORED = ("auto", "safetensors", "dummy")
"""Load formats that hold what the files say."""


def check(ctx: Context) -> Iterator[Item]:
    """The decoder's weights, cut over all ranks as evenly as can be, against the memory of one GPU."""
    if (refused := unsettled(ctx)) is not None:
        yield refused
        return
    assert ctx.target is not None
    assert ctx.target.config is not None
    hardware = ctx.model.hardware
    memory = at_most(hardware.gpu_memory) if hardware is not None and hardware.gpu_memory else None
    layers = ctx.target.config.integer("num_hidden_layers")
    shared, stages = ranks(ctx).tensor, ctx.model.parallel.pp_size or 1
    if memory is None or layers is None or shared < 1 or stages < 1 or _held_elsewhere(ctx):
        yield NotApplicable()
        return
    from eaglecfg.rules.parallel.weight_bytes import certain_bytes, stored_bytes

    room, stored = (memory + _offloaded(ctx)) * shared * stages, stored_bytes(ctx.target)
    if stored is None:
        yield NotApplicable()
        return
    if stored <= room:
        return
    from eaglecfg.checkpoint.load import read_folder  # all headers of a target are read only on this way

    whole = read_folder(ctx.target.folder, ctx.target.shown, role="target", deep=True)
    least = certain_bytes(whole.tensors.values(), layers, quantized=declared(ctx.target) is not None)
    each = least // (shared * stages)
    if least <= room:
        return
    cut = f"tp_size {shared}" + (f" × pp_size {stages}" if stages > 1 else "")
    assert hardware is not None
    yield Finding(
        f"the target's layers take at least {gib(each)} on each GPU ({cut}), but gpu_memory is "
        f"{hardware.gpu_memory}",
        path=ctx.where("hardware", "gpu_memory"),
        why="the server runs out of memory while it loads the weights",
        help=f"use at least {-(-least // memory)} GPUs, larger ones, or a quantised checkpoint",
        evidence=(
            Evidence(ctx.target.shown, "*.safetensors", gib(stored), f"of which {gib(least)} are counted"),
        ),
        related=((ctx.where("parallel", "tp_size"), f"{shared} tensor-parallel ranks"),)
        if ctx.model.parallel.tp_size > 1
        else (),
        arithmetic=(f"{gib(least)} ÷ {shared * stages} = {gib(each)}",),
        values={"least_bytes": each, "gpu_memory_bytes": memory, "ranks": shared * stages},
    )


def at_most(text: str) -> int | None:
    """The most bytes behind ``24GiB`` or ``24GB``: vendors write either for the same card."""
    size = bytes_of(text)
    if not size:
        return None
    plain = text.strip().upper().removesuffix("B").removesuffix("I")
    return max(size, bytes_of(f"{plain}iB") or 0)


def _held_elsewhere(ctx: Context) -> bool:
    """Whether a flag moves weights off the GPU or makes them smaller."""
    if ctx.argument("load_format") not in (None, *AS_STORED) or ctx.argument("device") not in (None, "cuda"):
        return True
    given = ctx.arguments or {}
    moved = [name for name in given if name.startswith("kt_") or ("offload" in name and name != OFFLOAD)]
    return any(ctx.argument(name) not in (None, False) for name in (*ELSEWHERE, *moved))


def _offloaded(ctx: Context) -> int:
    """Bytes of weights that each rank may leave in the host's memory."""
    size = ctx.argument(OFFLOAD)
    number = float(size) if isinstance(size, int | float) and not isinstance(size, bool) else 0.0
    return int(number * GIB) if 0 < number < 1e6 else 0


RULE = Rule(
    id="EC421",
    slug="weights-beyond-memory",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG, Need.TARGET_NAMES),
    follows=("EC301", "EC303", "EC814", "EC816", *UNLOADABLE),
)
