"""A draft class that this engine version does not have yet."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.architecture.drafts import eagle3_classes, model_package, runs_eagle3
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.evidence import config_line, either
from eaglecfg.rules.model import Finding, Item, Need, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """The class must be in the version that runs, not only in others."""
    draft = context.draft
    assert context.engine is not None
    assert draft is not None
    assert draft.config is not None
    name = draft.config.architecture
    if not runs_eagle3(context) or name is None or name in context.engine.drafts:
        return
    first = eagle3_classes(context).get(name)
    if first is None or model_package(context):
        return
    known = either(sorted(context.engine.drafts))
    yield Finding(
        f"the draft's class {name} exists in {context.engine.name} {first} and later, but "
        f"{engine_label(context)} runs and builds {known} only",
        path=("engine", "version"),
        related=((context.where("draft", "checkpoint"), f"a draft of class {name}"),),
        why="the engine looks the class up by name and stops while loading",
        help=f"run {context.engine.name} {first} or later, or a draft of class {known}",
        evidence=(config_line(draft.config, "architectures", f"first in {first}"),),
        values={"draft_architecture": name, "first_version": first},
    )


RULE = Rule(
    id="EC507",
    slug="draft-class-too-new",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    research=("ALG-08", "VER-04"),
)
