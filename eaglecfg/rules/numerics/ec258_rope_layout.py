"""A rope layout that this engine version does not read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import key_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.numerics.honoured import draft_fact

ASSUMED = 10000
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
    theta, share = layout.get("rope_theta"), layout.get(SHARE)
    read = ctx.engine.values.get("rope_parameters_read", True)
    if not read and isinstance(theta, int | float) and "rope_theta" not in config.raw and theta != ASSUMED:
        yield _finding(
            ctx,
            config,
            f"gives rope_theta {theta:.10g} inside rope_parameters, but sglang {ctx.engine.version} reads "
            f"rope_theta at the top level alone and assumes {ASSUMED}",
            "rope_theta",
            theta,
            f"{ASSUMED} is assumed",
            "; newer versions read both",
        )
    fact = draft_fact(ctx)
    whole = fact is None or fact.family != "llama" or not isinstance(share, int | float) or share == 1
    if not whole and SHARE not in config.raw:
        yield _finding(
            ctx,
            config,
            f"gives {SHARE} {share:g} inside rope_parameters, but sglang {ctx.engine.version} reads "
            f"{SHARE} at the top level alone and rotates whole heads",
            SHARE,
            share,
            "1 is assumed",
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
