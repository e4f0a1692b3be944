"""A rope layout that this engine version does not read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.engines.class_rope import ClassRope, reads_rope_parameters, rope_of_class
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import key_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.numerics.honoured import draft_fact

SHARE = "partial_rotary_factor"
"""Read by the Llama class at the top level (sglang 0.5.23 srt/models/llama.py:199)."""


def check(ctx: Context) -> Iterator[Item]:
    """``rope_theta`` and ``partial_rotary_factor`` must stand where this version looks for them."""
    assert ctx.engine is not None
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    config = ctx.draft.config
    layout = config.raw.get("rope_parameters")
    if not isinstance(layout, dict) or not layout.keys() & {"rope_theta", SHARE}:
        yield NotApplicable()
        return
    own = rope_of_class(ctx.engine, config)
    theta = layout.get("rope_theta")
    if not reads_rope_parameters(ctx.engine, config) and isinstance(theta, int | float):
        yield from _theta(ctx, config, own, theta)
    yield from _share(ctx, config, own, layout.get(SHARE))


def _theta(ctx: Context, config: ModelConfig, own: ClassRope | None, theta: float) -> Iterator[Item]:
    assert ctx.engine is not None
    if "rope_theta" in config.raw or (own is not None and own.theta == theta):
        return
    older = not ctx.engine.values.get("rope_parameters_read", True)
    assumed = f"{own.theta} is assumed" if own is not None else "what its class assumes"
    yield _finding(
        ctx,
        config,
        f"gives rope_theta {theta:.10g} inside rope_parameters, but sglang {ctx.engine.version} reads "
        f"rope_theta at the top level alone"
        + (f" and assumes {own.theta}" if own is not None else "")
        + ("" if older or own is None else f": its own {own.config_class} drops rope_parameters"),
        "rope_theta",
        theta,
        assumed,
        "; newer versions read both" if older and (own is None or own.keeps_rope_parameters) else "",
    )


def _share(ctx: Context, config: ModelConfig, own: ClassRope | None, share: Any) -> Iterator[Item]:
    assert ctx.engine is not None
    fact = draft_fact(ctx)
    if fact is None or fact.family != "llama" or not isinstance(share, int | float) or SHARE in config.raw:
        return
    if own is None:
        yield NotChecked(
            f"{config.file} gives {SHARE} inside rope_parameters, where sglang does not look for it, and "
            "what its config class assumes instead is not known"
        )
        return
    if share == own.share:
        return
    turns = "whole heads" if own.share == 1 else f"{own.share:g} of each head, as {own.config_class} has it"
    yield _finding(
        ctx,
        config,
        f"gives {SHARE} {share:g} inside rope_parameters, but sglang {ctx.engine.version} reads "
        f"{SHARE} at the top level alone and rotates {turns}",
        SHARE,
        share,
        f"{own.share:g} is assumed",
        "",
    )


def _finding(
    ctx: Context, config: ModelConfig, what: str, key: str, value: Any, instead: str, more: str
) -> Finding:
    return Finding(
        f"{config.file} {what}",
        path=ctx.where("draft", "checkpoint"),
        why="the draft's positions turn in another way than in training: proposals get worse, and nothing "
        "says so",
        help=f'add "{key}": {value} at the top level of {config.file}{more}',
        evidence=(
            key_line(config, f"rope_parameters.{key}", "not read"),
            key_line(config, key, instead),
        ),
        values={key: value},
    )


RULE = Rule(
    id="EC258",
    slug="rope-layout",
    severity=Severity.WARNING,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    follows=UNLOADABLE,
    research=("CTX-04",),
)
