"""A rope that the draft's file does not describe, and its config class does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.engines.class_rope import ClassRope, rope_of_class
from eaglecfg.engines.config_classes import USUAL
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, key_line
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
from eaglecfg.rules.numerics.ec258_rope_layout import SHARE
from eaglecfg.rules.numerics.honoured import draft_fact
from eaglecfg.rules.shapes.tensors import draft_config


def check(ctx: Context) -> Iterator[Item]:
    """Where a config class scales positions or turns a part of each head, the file should say so itself."""
    fact, draft = draft_fact(ctx), draft_config(ctx)
    if fact is None or fact.family != "llama" or draft.value("model_type", USUAL) == USUAL:
        yield NotApplicable()
        return
    assert ctx.engine is not None
    own = rope_of_class(ctx.engine, draft)
    if own is None:
        if SHARE not in draft.raw:
            yield NotChecked(
                f"{draft.file} does not give {SHARE}, and what its class assumes instead is not known"
            )
        return
    if own.share != 1 and not _names_share(draft):
        yield _share(ctx, draft, own)
    if own.scaling is not None and not own.by_layer_type:
        yield _scaling(ctx, draft, own)


def _names_share(config: ModelConfig) -> bool:
    layout = config.raw.get("rope_parameters")
    return config.find(SHARE) is not None or (isinstance(layout, dict) and SHARE in layout)


def _share(ctx: Context, draft: ModelConfig, own: ClassRope) -> Finding:
    other = _alike(ctx, draft)
    return _finding(
        ctx,
        draft,
        own,
        f"has no {SHARE}, and {_named(draft, own)} has {own.share:g} of each head turn",
        f'write "{SHARE}" of the training run at the top level of {draft.file}: 1 if whole heads turned',
        key_line(draft, SHARE, f"{own.share:g} is assumed"),
        copied=other is not None and not _names_share(other),
        values={SHARE: own.share},
    )


def _scaling(ctx: Context, draft: ModelConfig, own: ClassRope) -> Finding:
    assert own.scaling is not None
    other, given = _alike(ctx, draft), draft.raw.get("rope_theta")
    kind, factor, theta = (own.scaling.get(key) for key in ("rope_type", "factor", "rope_theta"))
    replaced = theta is not None and given is not None and given != theta
    without = {"rope_type": "default", "rope_theta": own.theta if given is None else given}
    text = ", ".join(f'"{key}": {_json(value)}' for key, value in without.items())
    return _finding(
        ctx,
        draft,
        own,
        f"gives no rope_scaling, and {_named(draft, own)} scales positions by {factor:g} ({kind})"
        + (f", with rope_theta {theta} in place of {_json(given)}" if replaced else ""),
        f'write the "rope_scaling" of the training run into {draft.file}: {{{text}}} if there was none',
        config_line(draft, "rope_scaling", f"{kind} by {factor:g} is assumed"),
        copied=other is not None and not replaced and not _scales(other),
        values={"rope_type": kind, "factor": factor},
    )


def _scales(config: ModelConfig) -> bool:
    return any(config.value(key) is not None for key in ("rope_scaling", "rope_parameters"))


def _alike(ctx: Context, draft: ModelConfig) -> ModelConfig | None:
    """The target's config where it is of the draft's own class: then one may be a copy of the other."""
    target = ctx.target.config if ctx.target is not None else None
    same = target is not None and target.value("model_type") == draft.value("model_type")
    return target if same else None


def _named(draft: ModelConfig, own: ClassRope) -> str:
    return f"{own.config_class}, which its model_type {draft.value('model_type')} names,"


def _json(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, int | float) else f'"{value}"'


def _finding(
    ctx: Context,
    draft: ModelConfig,
    own: ClassRope,
    what: str,
    advice: str,
    line: Evidence,
    *,
    copied: bool,
    values: dict[str, Any],
) -> Finding:
    return Finding(
        f"{draft.file} {what}",
        path=ctx.where("draft", "checkpoint"),
        severity=Severity.INFO if copied else None,
        why="right where the draft was trained so, as the target is, whose file leaves it to the same class"
        if copied
        else "a trainer that went by the file alone turned positions in another way: proposals get worse, "
        "and nothing says so",
        help=advice,
        evidence=(line, config_line(draft, "model_type", f"{own.config_class}, {own.source}")),
        values=values,
    )


RULE = Rule(
    id="EC272",
    slug="rope-left-to-class",
    severity=Severity.WARNING,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    follows=("EC814", *UNLOADABLE),
)
