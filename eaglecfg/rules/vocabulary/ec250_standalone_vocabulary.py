"""EC250: a STANDALONE draft whose token ids are not the target's."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotApplicable, Rule, Severity, Today

PADDING = 1024
"""Sizes that differ by less may be one vocabulary with rows that no token uses."""


def check(ctx: Context) -> Iterator[Item]:
    """Draft and target of STANDALONE must have one vocabulary: ids go from one to the other as they are."""
    assert ctx.engine is not None
    assert ctx.resolution is not None
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    assert ctx.target is not None
    assert ctx.target.config is not None
    if ctx.resolution.runs("speculative_algorithm") != "STANDALONE":
        yield NotApplicable()
        return
    configs = ctx.draft.config, ctx.target.config
    draft, target = (config.integer("vocab_size") for config in configs)
    compares = ctx.engine.values["standalone_checks_vocabulary"]
    if draft is None or target is None or draft == target:
        return
    if not compares and abs(draft - target) < PADDING:
        return
    label = engine_label(ctx)
    yield Finding(
        f"algorithm STANDALONE needs a draft with the target's vocabulary of {target}, but "
        f"{ctx.draft.config.file} has vocab_size {draft}",
        path=ctx.where("draft", "checkpoint"),
        today=Today.REFUSED if compares else Today.SILENT,
        why=f"{label} compares the two sizes and stops with a ValueError after loading"
        if compares
        else f"{label} hands token ids from one model to the other as they are: there they mean others, so "
        "that nearly every proposal is rejected, and an id beyond the smaller table stops the server",
        help="use a smaller model of the target's own family, with the same tokenizer",
        evidence=(
            config_line(configs[0], "vocab_size", "draft"),
            config_line(configs[1], "vocab_size", "target"),
            Evidence(
                f"{ctx.engine.name} {ctx.engine.facts_of}",
                "StandaloneWorker",
                ctx.engine.sources["standalone_checks_vocabulary"],
                "sizes compared" if compares else "sizes not compared",
            ),
        ),
        values={"draft": draft, "target": target},
    )


RULE = Rule(
    id="EC250",
    slug="standalone-vocabulary",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.TARGET_CONFIG),
    follows=("EC814", *UNLOADABLE),
)
