"""A draft that does not say how fast its positions turn."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.class_rope import rope_of_class
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.shapes.tensors import draft_class, draft_config


def check(ctx: Context) -> Iterator[Item]:
    """``rope_theta`` should stand in the draft's config, in either layout."""
    draft = draft_config(ctx)
    if draft_class(ctx) is None:
        yield NotApplicable()
        return
    layout = draft.raw.get("rope_parameters")
    if "rope_theta" in draft.raw or (isinstance(layout, dict) and "rope_theta" in layout):
        return
    assert ctx.engine is not None
    own = rope_of_class(ctx.engine, draft)
    assumed = (
        "what its config class assumes instead is not known"
        if own is None
        else f"{own.theta} is assumed" + (f" (by {own.config_class})" if own.source else "")
    )
    target = ctx.target.config if ctx.target is not None else None
    yield Finding(
        f"{draft.file} has no rope_theta, and {assumed}",
        path=ctx.where("draft", "checkpoint"),
        why="right where the draft was trained so; a draft has its own rope_theta, whatever the target's is",
        help=f"write the rope_theta of the training run into {draft.file}",
        evidence=(
            config_line(draft, "rope_theta", "draft"),
            *((config_line(target, "rope_theta", "target"),) if target is not None else ()),
        ),
        values={"assumed": None if own is None else own.theta},
    )


RULE = Rule(
    id="EC265",
    slug="rope-theta-absent",
    severity=Severity.INFO,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    follows=("EC258", *UNLOADABLE),
    research=("CTX-04",),
)
