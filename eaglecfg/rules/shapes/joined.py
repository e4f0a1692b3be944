"""Weights that the files hold joined (qkv_proj, gate_up_proj) beside the parts that the engine builds."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.wiring import ExpectedTensor, Wiring
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import tensor_line
from eaglecfg.rules.model import Finding, Today


def wrongly_joined(ctx: Context, built: Wiring) -> Iterator[Finding]:
    """Joined weights of another shape than their parts come to together."""
    assert ctx.draft is not None
    layers: dict[tuple[str, ...], list[ExpectedTensor]] = {}
    for each in built.tensors:
        if each.instead:
            layers.setdefault(each.instead, []).append(each)
    for names, parts in layers.items():
        found = next((ctx.draft.tensors[name] for name in names if name in ctx.draft.tensors), None)
        rows, columns = [part.shape[0] for part in parts], parts[0].shape[1]
        if found is None or None in rows or columns is None:
            continue
        want = (sum(row or 0 for row in rows), columns)
        if found.shape == want:
            continue
        long = len(found.shape) == 2 and found.shape[1] == columns and found.shape[0] > want[0]
        spelled = " + ".join(
            f"{part.names[0].split('.')[-2]} {row}" for part, row in zip(parts, rows, strict=True)
        )
        yield Finding(
            f"{found.name} must be {list(want)}, but is {list(found.shape)}",
            path=ctx.where("draft", "checkpoint"),
            today=Today.SILENT if long else Today.CRASH_AT_START,
            why=f"what lies beyond row {want[0]} is left out while loading, and nothing says so: the layer "
            "computes something else"
            if long
            else "SGLang stops while it loads this tensor: the sizes do not fit",
            help="take weights and config from one training run",
            evidence=(tensor_line(found, f"expected {list(want)}"),),
            values={"expected": list(want), "found": list(found.shape)},
            arithmetic=(f"rows: {spelled} = {want[0]}",),
        )
