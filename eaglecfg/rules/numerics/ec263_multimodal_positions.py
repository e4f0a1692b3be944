"""A target with positions in several dimensions and a draft without."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today


def check(ctx: Context) -> Iterator[Item]:
    """A draft for a target with ``mrope_section`` should have one too."""
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    assert ctx.target is not None
    assert ctx.target.config is not None
    draft, target = ctx.draft.config, ctx.target.config
    if not _sections(target):
        yield NotApplicable()
        return
    if _sections(draft):
        return
    yield Finding(
        f"the target's rope has an mrope_section, but {draft.file} has none",
        path=ctx.where("draft", "checkpoint"),
        why="on images and videos the draft sees plain positions where the target sees three: acceptance "
        "should be lower "
        "there; this follows from the code and was not measured",
        help="compare accept lengths on text and on images before you rely on it",
        evidence=(config_line(target, "rope", "target"), config_line(draft, "rope", "draft")),
        values={"target": True, "draft": False},
    )


def _sections(config: ModelConfig) -> bool:
    rope = config.value("rope")
    return isinstance(rope, dict) and "mrope_section" in rope


RULE = Rule(
    id="EC263",
    slug="multimodal-positions",
    severity=Severity.INFO,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.TARGET_CONFIG),
    follows=UNLOADABLE,
    research=("CTX-05",),
)
