"""Without ids and without trained boundaries the engine's default stands unproven."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.rules.capture.ids import (
    BLOCK,
    KEY,
    at_top,
    depth_line,
    draft_config,
    engine_line,
    ids_line,
    ids_path,
    layers,
    shift_lines,
    spelled,
    target_config,
    third_points,
)
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """Name the default; warn where it is not the one that trainers use."""
    found, n = context.boundaries, layers(context)
    assert found is not None
    if found.ids is not None or found.outcome != "captured" or context.trained is not None or n is None:
        yield NotApplicable()
        return
    if at_top(draft_config(context)) is not None:
        return  # a rule of its own speaks of the default there
    usual = third_points(n)
    other = found.captured != tuple(sorted(usual))
    tail = f", while trainers that write no ids capture {spelled(usual)}" if other else ""
    bare = _bare_block(draft_config(context))
    if bare and not other:
        tail = f", although its {BLOCK} block asks for states and names no layers"
    yield Finding(
        f"the draft lists no capture ids, so {engine_label(context)} captures its default "
        f"{spelled(found.captured)}{tail}",
        path=ids_path(context),
        severity=Severity.WARNING if other or bare else Severity.INFO,
        today=Today.SILENT if other or bare else Today.NOTHING,
        why=(
            "trainers that write this block know which layers they took; a published draft with such a block "
            "had 1 % acceptance on the default and 59 % on its own layers, and nothing was logged"
            if bare
            else "no file says whether the draft was trained on these; with others it loses acceptance in "
            "silence"
        ),
        help="declare capture.trained_boundaries, so that eaglecfg proves it",
        evidence=(
            ids_line(draft_config(context), "no ids"),
            depth_line(target_config(context), "depth of the target"),
            engine_line(context),
        ),
        values={"ids": None, "effective_boundaries": list(found.captured)},
        arithmetic=shift_lines(None, found.shifted, n),
    )


def _bare_block(draft: ModelConfig) -> bool:
    """Whether an ``eagle_config`` block speaks of captured states without naming the layers."""
    block = draft.raw.get(BLOCK)
    return isinstance(block, dict) and KEY not in block and block.get("use_aux_hidden_state") is True


RULE = Rule(
    id="EC218",
    slug="default-boundaries",
    severity=Severity.INFO,
    today=Today.NOTHING,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG, Need.DRAFT_CONFIG, Need.CAPTURE),
    follows=(
        "EC105",
        "EC236",
        "EC202",
        "EC203",
        "EC213",
        "EC216",
        *UNLOADABLE,
    ),
    research=("IDS-05", "IDS-11"),
)
