"""A rope layout that this engine version does not read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.engines.class_rope import ClassRope, reads_rope_parameters, rope_of_class
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import key_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.numerics.honoured import draft_fact

TURNED = (
    "the draft's positions turn in another way than in training: proposals get worse, and nothing says so"
)
SHARE = "partial_rotary_factor"
"""Read by the Llama class at the top level (sglang 0.5.23 srt/models/llama.py:199)."""


def check(ctx: Context) -> Iterator[Item]:
    """What turns positions must stand where this version, and the config class, look for it."""
    assert ctx.engine is not None
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    config = ctx.draft.config
    layout = config.raw.get("rope_parameters")
    own = rope_of_class(ctx.engine, config)
    beside = _beside_scaling(ctx, config, own)
    if beside is not None:
        yield beside
    if not isinstance(layout, dict) or not layout.keys() & {"rope_theta", "rope_type", "type", SHARE}:
        if beside is None:
            yield NotApplicable()
        return
    theta = layout.get("rope_theta")
    if not reads_rope_parameters(ctx.engine, config) and isinstance(theta, int | float):
        yield from _theta(ctx, config, own, theta)
    # Under transformers 5 rope_scaling is another name for rope_parameters, unless the class drops them.
    dropped = own is not None and not own.keeps_rope_parameters
    older = str(ctx.engine.values.get("pins", {}).get("transformers", "")).startswith("==4.")
    if (dropped or older) and (own is None or own.scaling is None) and "mrope_section" not in layout:
        yield from _scaling(ctx, config, layout)
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


def _scaling(ctx: Context, config: ModelConfig, layout: Mapping[str, Any]) -> Iterator[Item]:
    assert ctx.engine is not None
    key = "rope_type" if "rope_type" in layout else "type"
    kind = layout.get(key)
    if not isinstance(kind, str) or kind == "default" or config.raw.get("rope_scaling"):
        return
    yield Finding(
        f"{config.file} gives {key} {kind} inside rope_parameters, but sglang {ctx.engine.version} reads "
        "rope_scaling alone and scales no positions",
        path=ctx.where("draft", "checkpoint"),
        why=TURNED,
        help=f"add the {kind} scaling to {config.file} as rope_scaling too",
        evidence=(
            key_line(config, f"rope_parameters.{key}", "not read"),
            key_line(config, "rope_scaling", "nothing is scaled"),
        ),
        values={key: kind},
    )


def _beside_scaling(ctx: Context, config: ModelConfig, own: ClassRope | None) -> Finding | None:
    """A rope_theta that a class of SGLang's own, under transformers 5, keeps apart from the scaling."""
    assert ctx.engine is not None
    scaling, theta = config.raw.get("rope_scaling"), config.raw.get("rope_theta")
    apart = own is not None and not own.keeps_rope_parameters and ctx.engine.values["rope_parameters_read"]
    if not apart or own is None or not isinstance(scaling, dict) or not scaling or "rope_theta" in scaling:
        return None
    if not isinstance(theta, int | float) or theta == own.theta:
        return None
    return Finding(
        f"{config.file} gives rope_theta {theta:.10g} at the top level, but beside a rope_scaling sglang "
        f"{ctx.engine.version} looks for it in there, as {own.config_class} has it, and assumes {own.theta}",
        path=ctx.where("draft", "checkpoint"),
        why=TURNED,
        help=f'add "rope_theta": {theta} to the rope_scaling of {config.file} as well',
        evidence=(
            key_line(config, "rope_theta", "not read"),
            key_line(config, "rope_scaling.rope_theta", f"{own.theta} is assumed"),
        ),
        values={"rope_theta": theta},
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
        why=TURNED,
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
