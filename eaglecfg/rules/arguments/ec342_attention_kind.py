"""EC342: an attention backend that cannot carry the attention of the target, or of the draft."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eaglecfg.engines.attention import DRAFT_FLAG, chosen, is_dsa, misfit
from eaglecfg.engines.table import source_of
from eaglecfg.rules.arguments.backends import (
    Used,
    configs,
    given_backends,
    gpu_of,
    picked_path,
    picked_words,
    running,
    used,
)
from eaglecfg.rules.arguments.shape import EAGLE_FAMILY, algorithm
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotChecked, Rule, Severity, Today
from eaglecfg.rules.remedies import give

Row = Mapping[str, Any]

TAKES = {
    "mla": "models with latent attention (MLA)",
    "mha": "models without latent attention (MLA)",
    "dsa": "models with DeepSeek's sparse attention (index_topk in config.json)",
}


def check(ctx: Context) -> Iterator[Item]:
    """The target's backends carry its attention, and the draft's carry the draft's."""
    assert ctx.engine is not None
    target, draft = configs(ctx)
    for one in running(ctx):
        row = misfit(ctx.engine, one.name, target)
        if row is not None:
            yield _target(ctx, one, row)
            return
    if not ctx.speculates or algorithm(ctx) not in EAGLE_FAMILY or draft is None:
        return
    own = ctx.argument(DRAFT_FLAG)
    known = ctx.engine.values.get("draft_backends", ())
    for one in [Used(own, DRAFT_FLAG)] if isinstance(own, str) else running(ctx):
        row = misfit(ctx.engine, one.name, draft)
        if row is not None and one.name in known:
            yield _draft(ctx, one, row)
            return
    if own is None and (reason := _undecided(ctx)):
        yield NotChecked(reason)


def _undecided(ctx: Context) -> str:
    """Why a backend that the engine picks by the GPU may or may not carry the draft; empty where any does."""
    assert ctx.engine is not None
    if given_backends(ctx) or used(ctx, "decode") is not None:
        return ""
    target, draft = configs(ctx)
    arguments = {name: one.value for name, one in (ctx.arguments or {}).items()}
    picks = [chosen(ctx.engine, target, arguments, major).backend for major in (8, 9, 10, 12)]
    if not any(one is not None and misfit(ctx.engine, one, draft) for one in picks):
        return ""
    gpu, major = gpu_of(ctx)
    if gpu is None or major is not None:
        return "needs the hardware block" if gpu is None else ""
    return f"needs a GPU that eaglecfg knows, and hardware.gpu is {gpu}"


def _target(ctx: Context, one: Used, row: Row) -> Finding:
    assert ctx.engine is not None
    target, _ = configs(ctx)
    assert target is not None
    others = "flashinfer, fa3 or triton"
    return Finding(
        f"{one.word}{picked_words(ctx, one)} takes {TAKES[row['kind']]} only, and the target's "
        f"{target.architecture} is none",
        path=picked_path(ctx, one),
        why=f"sglang {ctx.engine.version} stops with {_an(row['raises'])} when it builds the backend, after "
        "it has loaded the target",
        help=f"leave {one.flag} out, or choose {others}"
        if one.flag
        else f"write attention_backend: {others}",
        evidence=_evidence(ctx, one, row),
        values={"backend": one.name, "class": target.architecture},
    )


def _draft(ctx: Context, one: Used, row: Row) -> Finding:
    assert ctx.engine is not None
    _, draft = configs(ctx)
    assert draft is not None
    has_flag = DRAFT_FLAG in ctx.engine.flags
    inherits = (
        ""
        if one.flag == DRAFT_FLAG
        else f"a draft {'without ' + DRAFT_FLAG + ' ' if has_flag else ''}runs on the target's backend; "
    )
    own = _own_backend(ctx)
    # Drafts of these targets are published to be run as they are; only the builder itself was called.
    unseen = row["kind"] == "dsa" and not one.flag
    seen = "; read in the engine's code, not seen in a launch" if unseen else ""
    return Finding(
        f"{one.word}{picked_words(ctx, one)} takes {TAKES[row['kind']]} only, and the draft's "
        f"{draft.architecture} is none",
        path=picked_path(ctx, one),
        severity=Severity.INFO if unseen else None,
        why=f"{inherits}sglang {ctx.engine.version} stops with {_an(row['raises'])} when it builds the "
        f"draft's backend, after it has loaded both models{seen}",
        help=_draft_help(ctx, one, own),
        evidence=_evidence(ctx, one, row),
        related=((ctx.where("draft", "checkpoint"), f"a {draft.architecture}"),),
        fix=give(ctx, ("server", DRAFT_FLAG), own) if has_flag and one.flag != DRAFT_FLAG else None,
        values={"backend": one.name, "class": draft.architecture},
    )


def _draft_help(ctx: Context, one: Used, own: str) -> str:
    assert ctx.engine is not None
    if one.flag == DRAFT_FLAG:
        return f"give the draft another {DRAFT_FLAG}: {own}"
    if DRAFT_FLAG in ctx.engine.flags:
        return f"give the draft its own: {DRAFT_FLAG}: {own}"
    target, _ = configs(ctx)
    if is_dsa(ctx.engine, target):
        return "take a release from 0.5.7 on, where the draft can have a backend of its own"
    return f"write attention_backend: {own}, which takes both"


def _own_backend(ctx: Context) -> str:
    """A backend that takes a draft of any kind on the GPU that is named."""
    return "fa3" if gpu_of(ctx)[1] == 9 else "flashinfer"


def _evidence(ctx: Context, one: Used, row: Row) -> tuple[Evidence, ...]:
    assert ctx.engine is not None
    file = f"sglang {ctx.engine.facts_of}"
    read = Evidence(file, one.name, source_of(row), f"takes {row['kind']} only")
    return (read, Evidence(file, "attention_backend", one.source)) if one.source else (read,)


def _an(name: str) -> str:
    return f"{'an' if name[0] in 'AEIO' else 'a'} {name}"


RULE = Rule(
    id="EC342",
    slug="attention-kind",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG),
    follows=("EC301", "EC304", "EC504", "EC508"),
)
