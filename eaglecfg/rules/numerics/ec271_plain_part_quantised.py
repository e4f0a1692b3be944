"""A quantised draft of a class that takes one of its weights apart while it loads."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.quantization import declared
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import tensor_line
from eaglecfg.rules.model import (
    Evidence,
    Finding,
    Item,
    Need,
    NotApplicable,
    NotChecked,
    Rule,
    Severity,
    Today,
)
from eaglecfg.rules.numerics.honoured import draft_fact, engine_line
from eaglecfg.rules.shapes.scales import EIGHT_BITS, FLAGS


def check(ctx: Context) -> Iterator[Item]:
    """Weights that loading reads as plain numbers must be stored, and built, as such."""
    fact = draft_fact(ctx)
    assert ctx.draft is not None
    assert ctx.engine is not None
    found = declared(ctx.draft)
    if fact is None or not fact.plain_only or found is None:
        yield NotApplicable()
        return
    if found.method.startswith("modelopt") and "FP4" in found.algorithm:
        yield NotApplicable()  # the class builds such a draft of plain layers
        return
    from eaglecfg.engines.quantized import parts_of  # few drafts are quantised

    known = parts_of(ctx.engine.name, ctx.engine.facts_of, found) is not None
    given = any(ctx.argument(flag) not in (None, found.method) for flag in FLAGS)
    for part in fact.plain_only:
        tensors = [t for name, t in sorted(ctx.draft.tensors.items()) if f".{part}." in f".{name}"]
        weight = next((t for t in tensors if t.name.endswith("weight")), None)
        packed = [
            t for t in tensors if t.dtype in EIGHT_BITS or t.name.endswith(("qweight", "weight_packed"))
        ]
        if not tensors or (not packed and found.spares):
            continue  # whether the engine leaves it out too, the rule about scales says it cannot tell
        if not packed and (given or not known):
            yield NotChecked(f"whether {found.form} leaves {part} plain is not known")
            continue
        stored = packed[0] if packed else weight
        leaf = part.rpartition(".")[2]
        yield Finding(
            f"{fact.architecture} cannot load a quantised {leaf}, but {found.file} declares {found.form} "
            f"weights"
            + ("" if packed else f" and leaves no layer out; {leaf} is stored plain, and built otherwise"),
            path=ctx.where("draft", "checkpoint"),
            why=f"the class takes {leaf} apart as soon as it is loaded and knows floats only: "
            "SGLang stops with a NotImplementedError or an AttributeError",
            help="use the draft in bfloat16: save its weights unquantised and remove the declaration",
            evidence=(
                *((tensor_line(stored),) if stored is not None else ()),
                Evidence(found.file, found.key or "quant_algo", found.form, "declared"),
                engine_line(ctx, fact, "post_load_weights"),
            ),
            values={
                "part": part,
                "declared": found.form,
                "dtype": stored.dtype if stored is not None else None,
            },
        )


RULE = Rule(
    id="EC271",
    slug="plain-part-quantised",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.DRAFT_TENSORS),
    follows=UNLOADABLE,
)
