"""EAGLE3 without a draft loads the target as its own draft."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.architecture.drafts import engine_label, runs_eagle3
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """Speculation with EAGLE3 must name a draft."""
    if context.model.draft is not None or context.refused("draft") or not runs_eagle3(context):
        return
    if context.argument("speculative_draft_model_path") is not None:
        return  # no text, of which another rule says so
    yield Finding(
        "algorithm EAGLE3 needs a draft, but the deployment names none",
        path=context.where("speculative"),
        at_key=True,
        why=f"{engine_label(context)} {_instead(context)}",
        help="add draft: {checkpoint: ...} with an EAGLE-3 draft, or set speculative: off",
        values={"algorithm": "EAGLE3", "draft": None},
    )


def _instead(context: Context) -> str:
    """What the engine does without a draft; for some classes it takes the head inside the target."""
    assert context.engine is not None
    config = context.target.config if context.target is not None else None
    name = config.architecture if config is not None else None
    if name in context.engine.values["draft_from_target"]:
        return f"takes the MTP head inside {name} as the draft, which reads no captured states"
    return "loads the target a second time as its own draft and fails after minutes of loading"


RULE = Rule(
    id="EC503",
    slug="draft-missing",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE,),
    research=("ALG-03", "ALG-04"),
)
