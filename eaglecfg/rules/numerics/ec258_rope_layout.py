"""A rope layout that this engine version does not read."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import key_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today

ASSUMED = 10000


def check(ctx: Context) -> Iterator[Item]:
    """``rope_theta`` must stand where this version looks for it."""
    assert ctx.engine is not None
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    config = ctx.draft.config
    layout = config.raw.get("rope_parameters")
    theta = layout.get("rope_theta") if isinstance(layout, dict) else None
    if theta is None or "rope_theta" in config.raw or theta == ASSUMED:
        yield NotApplicable()
        return
    if ctx.engine.values.get("rope_parameters_read", True):
        return
    yield Finding(
        f"{config.file} gives rope_theta {theta:g} inside rope_parameters, but sglang {ctx.engine.version} "
        "reads "
        f"rope_theta at the top level alone and assumes {ASSUMED}",
        path=ctx.where("draft", "checkpoint"),
        why="the draft's positions turn at another speed than in training: proposals get worse, and "
        "nothing says so",
        help=f'add "rope_theta": {theta} at the top level of {config.file}; newer versions read both',
        evidence=(
            key_line(config, "rope_parameters.rope_theta", "not read"),
            key_line(config, "rope_theta", f"{ASSUMED} is assumed"),
        ),
        values={"rope_theta": theta, "assumed": ASSUMED},
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
