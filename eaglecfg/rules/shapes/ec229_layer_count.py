"""More draft layers than the class of this version builds."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.table import load_facts
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.shapes.tensors import blocks, draft_class, draft_config, left_to_the_class


def check(ctx: Context) -> Iterator[Item]:
    """``num_hidden_layers`` must not exceed what this version's draft class takes."""
    fact, draft = draft_class(ctx), draft_config(ctx)
    layers = draft.integer("num_hidden_layers")
    if fact is None or layers is None:
        absent = left_to_the_class(draft, "num_hidden_layers")
        yield absent if fact is not None and absent is not None else NotApplicable()
        return
    if fact.max_layers is None or layers <= fact.max_layers:
        return
    assert ctx.engine is not None
    held, later = len(blocks(ctx)), _first_free(ctx)
    stray = held == fact.max_layers
    yield Finding(
        f"{fact.architecture} of sglang {ctx.engine.version} takes {fact.max_layers} layer, but "
        f"{draft.file} asks for {layers}" + (f"; sglang {later} and later take several" if later else ""),
        path=ctx.where("draft", "checkpoint"),
        why="SGLang stops with a ValueError while it builds the draft",
        help=f'write "num_hidden_layers": {held} into {draft.file}; the files hold that many'
        if stray
        else f"run sglang {later} or later"
        if later
        else "use a draft of one layer",
        evidence=(
            config_line(draft, "num_hidden_layers", "layers of the draft"),
            Evidence(f"sglang {ctx.engine.facts_of}", fact.architecture, fact.source, "number of layers"),
        ),
        values={"num_hidden_layers": layers, "most": fact.max_layers},
    )


def _first_free(ctx: Context) -> str | None:
    """The first version whose draft class takes any number of layers."""
    assert ctx.engine is not None
    name = draft_config(ctx).architecture or ""
    for version in ctx.engine.known_versions:
        facts = load_facts(ctx.engine.name, version)
        fact = facts.drafts.get(name) if facts is not None else None
        if fact is not None and fact.max_layers is None:
            return version
    return None


RULE = Rule(
    id="EC229",
    slug="layer-count",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    follows=UNLOADABLE,
    research=("SHP-21", "VER-04"),
)
