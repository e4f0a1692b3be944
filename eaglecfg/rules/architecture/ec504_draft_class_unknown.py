"""The draft's class must be one that the engine builds."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.checkpoint.facts import CheckpointFacts
from eaglecfg.engines.boundaries import effective_boundaries
from eaglecfg.rules.architecture.drafts import eagle3_classes, from_package, model_package, runs_eagle3
from eaglecfg.rules.architecture.ec502_draft_of_another_kind import OTHER_KINDS
from eaglecfg.rules.architecture.ec505_draft_class_of_target import is_language_model
from eaglecfg.rules.capture.ids import BLOCK, KEY, at_top, spelled
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.evidence import config_line, either
from eaglecfg.rules.model import Finding, Item, Need, NotChecked, Rule, Severity, Today

NORM = "norm_before_residual"


def check(context: Context) -> Iterator[Item]:
    """No known version of the engine builds an EAGLE-3 draft of this class."""
    draft = context.draft
    assert context.engine is not None
    assert draft is not None
    assert draft.config is not None
    name = draft.config.architecture
    if not runs_eagle3(context) or name is None or name in context.engine.drafts:
        return
    package = model_package(context)
    if package:
        yield NotChecked(from_package(context, package, name))
        return
    if OTHER_KINDS.search(name) is not None or is_language_model(name) or name in eagle3_classes(context):
        return  # rules of their own know these better
    if context.engine.standing in ("newer", "development"):
        yield NotChecked(f"{engine_label(context)} is newer than the facts, and may know the class {name}")
        return
    known = either(sorted(context.engine.drafts))
    yield Finding(
        f"the draft's class is {name}, but {engine_label(context)} builds EAGLE-3 drafts of class {known} "
        "only",
        path=context.where("draft", "checkpoint"),
        why="the engine looks the class up by name and stops while loading",
        help=(context.engine.foreign.get(name) or _advice(draft, known)) + _more(context, draft.config),
        evidence=(config_line(draft.config, "architectures", "not known"),),
        values={"draft_architecture": name, "known": sorted(context.engine.drafts)},
    )


def _advice(draft: CheckpointFacts, known: str) -> str:
    if draft.config is not None and "speculators_model_type" in draft.config.raw:
        return (
            f"convert the draft: its config is in speculators form, {known} wants one flat config.json with "
            "hidden_size, num_hidden_layers, draft_vocab_size and eagle_config"
        )
    return f"if the tensors are those of {known}, write that name as architectures[0]; else export it anew"


def _more(context: Context, draft: ModelConfig) -> str:
    """What becomes of the keys that the other format spells elsewhere or that this engine has no code for."""
    listed, parts = at_top(draft), []
    if listed is not None and listed.ids:
        ids, assumed = _ids_for(context, listed.ids)
        parts.append(
            f"its {KEY} {spelled(listed.ids)} count boundaries, for which "
            f"{engine_label(context)} wants {BLOCK}.{KEY} {spelled(ids)}"
            + (", as it adds 1" if assumed else "")
        )
    if draft.value(NORM) is True:
        parts.append(f"{NORM} is true, which SGLang has no code for: prefer a draft trained without it")
    return "".join(f"; {part}" for part in parts)


def _ids_for(context: Context, boundaries: tuple[int, ...]) -> tuple[tuple[int, ...], bool]:
    """The ids that make the target's class capture ``boundaries``; whether that is one less for each."""
    lowered = tuple(boundary - 1 for boundary in boundaries)
    target = context.target.config if context.target is not None else None
    n = target.integer("num_hidden_layers") if target is not None else None
    if target is not None and target.architecture is not None and n is not None:
        assert context.engine is not None
        for ids in (lowered, boundaries):
            found = effective_boundaries(context.engine, target.architecture, n, ids, graphs=False)
            if found is not None and found.captured == boundaries:
                return ids, ids == lowered
    return lowered, True


RULE = Rule(
    id="EC504",
    slug="draft-class-unknown",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    research=("ALG-05",),
)
