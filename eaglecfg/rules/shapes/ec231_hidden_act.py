"""The activation of the draft's MLP."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.config_classes import activation
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.shapes.tensors import draft_class, draft_config, left_by, left_to_the_class

ONLY = "silu"
"""The one activation of both draft classes in every version read (0.5.23 srt/models/llama.py:116,
srt/models/deepseek_v2.py DeepseekV2MLP)."""


def check(ctx: Context) -> Iterator[Item]:
    """``hidden_act`` must be silu."""
    draft = draft_config(ctx)
    if draft_class(ctx) is None:
        yield NotApplicable()
        return
    act = activation(draft)
    if act is None:
        yield left_to_the_class(draft, "hidden_act") or NotApplicable()
        return
    if act == ONLY:
        return
    yield Finding(
        f"hidden_act of the draft must be {ONLY}, but is {act}{left_by(draft, 'hidden_act')}",
        path=ctx.where("draft", "checkpoint"),
        why="SGLang's draft classes know no other activation and stop with a ValueError",
        help="use a draft with a SiLU MLP; the target's activation does not matter",
        evidence=(config_line(draft, "hidden_act"),),
        values={"hidden_act": act},
    )


RULE = Rule(
    id="EC231",
    slug="hidden-act",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    follows=("EC262", *UNLOADABLE),
    research=("SHP-22",),
)
