"""Biases and norms in attention that the draft classes do not have."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.wiring_llama import row_bias
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, listed, tensor_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.shapes.ec226_tensors_unknown import ATTENTION_EXTRAS
from eaglecfg.rules.shapes.tensors import by_plain_name, draft_class, draft_config


def check(ctx: Context) -> Iterator[Item]:
    """Attention of a Llama draft has neither biases nor query and key norms."""
    fact, draft = draft_class(ctx), draft_config(ctx)
    if fact is None or fact.family != "llama":
        yield NotApplicable()
        return
    extras = [t for name, t in sorted(by_plain_name(ctx).items()) if name.endswith(ATTENTION_EXTRAS)]
    # o_proj keeps its bias where the config asks for it: only q, k and v are built again without.
    kept = row_bias(draft) is not None
    extras = [t for t in extras if not (kept and t.name.endswith("o_proj.bias"))]
    if not extras:
        return
    kinds = [
        what
        for what, mark in (("biases", ".bias"), ("query and key norms", "_norm.weight"))
        if any(t.name.endswith(mark) for t in extras)
    ]
    yield Finding(
        f"{fact.architecture} has no {' and no '.join(kinds)} in attention, but the draft ships "
        f"{listed([t.name for t in extras])}",
        path=ctx.where("draft", "checkpoint"),
        why="the class builds attention without them and drops the trained values, and nothing says so",
        help="use a draft trained without them; check its accept length against the trainer's if you keep it",
        evidence=(
            *(tensor_line(tensor, "dropped") for tensor in extras[:4]),
            *((config_line(draft, "attention_bias"),) if draft.find("attention_bias") is not None else ()),
        ),
        values={"tensors": [tensor.name for tensor in extras]},
    )


RULE = Rule(
    id="EC227",
    slug="attention-extras",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.DRAFT_TENSORS),
    follows=("EC223", *UNLOADABLE),
    research=("SHP-11", "SHP-12"),
)
