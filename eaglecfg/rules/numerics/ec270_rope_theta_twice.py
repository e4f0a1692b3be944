"""A draft whose file gives two values of rope_theta."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eaglecfg.engines.class_rope import reads_rope_parameters
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import key_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.shapes.tensors import draft_class, draft_config


def check(ctx: Context) -> Iterator[Item]:
    """``rope_theta`` at the top level and the one in ``rope_parameters`` must be the same number."""
    draft = draft_config(ctx)
    layout = draft.raw.get("rope_parameters")
    outer = draft.raw.get("rope_theta")
    inner = layout.get("rope_theta") if isinstance(layout, dict) else None
    if draft_class(ctx) is None or not _number(outer) or not _number(inner):
        yield NotApplicable()
        return
    if outer == inner:
        return
    assert ctx.engine is not None
    newer = reads_rope_parameters(ctx.engine, draft)
    taken, left = (inner, outer) if newer else (outer, inner)
    yield Finding(
        f"{draft.file} gives rope_theta {outer:.10g} at the top level and {inner:.10g} inside "
        f"rope_parameters; sglang {ctx.engine.version} takes {taken:.10g}",
        path=ctx.where("draft", "checkpoint"),
        why="versions up to 0.5.9 read the first and newer ones the second, unless the class drops it; "
        "with the one that the draft was not trained with, its positions turn in another way, proposals "
        "get worse, and nothing says so",
        help="keep the rope_theta of the training run in both places; the config that it started from "
        f"settles whether {left:.10g} was meant",
        evidence=(
            key_line(draft, "rope_theta", "not read" if newer else "read"),
            key_line(draft, "rope_parameters.rope_theta", "read" if newer else "not read"),
        ),
        values={"rope_theta": outer, "rope_parameters.rope_theta": inner, "taken": taken},
    )


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


RULE = Rule(
    id="EC270",
    slug="rope-theta-twice",
    severity=Severity.WARNING,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    follows=("EC814", *UNLOADABLE),
)
