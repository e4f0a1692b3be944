"""The width of one captured state."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.facts import TensorFact
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, key_line, tensor_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.shapes.tensors import (
    by_plain_name,
    draft_class,
    draft_config,
    left_to_the_class,
    stored_width,
)


def check(ctx: Context) -> Iterator[Item]:
    """``target_hidden_size``, else the draft's hidden_size, must be the target's hidden_size."""
    fact, draft = draft_class(ctx), draft_config(ctx)
    assert ctx.target is not None
    assert ctx.target.config is not None
    target = ctx.target.config
    width, hidden = target.integer("hidden_size"), draft.integer("hidden_size")
    if fact is None or not width or not hidden:
        absent = left_to_the_class(draft, "hidden_size") or left_to_the_class(target, "hidden_size")
        yield absent if fact is not None and absent is not None else NotApplicable()
        return
    named = draft.find("target_hidden_size")
    if named is not None and named.value is None and fact.family == "llama":
        yield Finding(
            f"{draft.file} sets target_hidden_size to null, which {fact.architecture} multiplies with the "
            "number of states",
            path=ctx.where("draft", "checkpoint"),
            today=Today.CRASH_AT_START,
            why="SGLang stops with a TypeError while it builds the draft",
            help=f'write "target_hidden_size": {width}, or remove the key if the draft is as wide as the '
            "target",
            evidence=(config_line(draft, "target_hidden_size"), config_line(target, "hidden_size")),
            values={"target_hidden_size": None, "hidden_size": width},
        )
        return
    expected = draft.integer("target_hidden_size") or hidden
    if expected == width:
        return
    fc = by_plain_name(ctx).get("fc.weight")
    key = "target_hidden_size" if draft.integer("target_hidden_size") is not None else "hidden_size"
    yield Finding(
        f"the draft takes states of {expected} ({key}), but the target's hidden_size is {width}",
        path=ctx.where("draft", "checkpoint"),
        why=_why(hidden, width, key),
        help=_advice(ctx, fc, width, hidden, key),
        evidence=(
            key_line(draft, key, "width of one state in the draft"),
            config_line(target, "hidden_size", "width of one state of the target"),
            *((tensor_line(fc, _reading(fc, expected, width)),) if fc is not None else ()),
        ),
        values={key: expected, "hidden_size": width},
        arithmetic=_lines(ctx, expected, width),
    )


def _why(hidden: int, width: int, key: str) -> str:
    arrives = "fc gets another width than it was built for: the first request crashes"
    if key == "hidden_size" and hidden != width:
        return f"{arrives}, and the target's embedding, which the draft shares, is of another width too"
    return arrives


def _reading(fc: TensorFact, expected: int, width: int) -> str:
    """What the columns of fc come to, in states of either width."""
    columns = fc.shape[-1] if fc.shape else 0
    return next(
        (f"{columns} = {columns // n} × {n}" for n in (expected, width) if columns and columns % n == 0), ""
    )


def _advice(ctx: Context, fc: TensorFact | None, width: int, hidden: int, key: str) -> str:
    assert ctx.target is not None
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    stored, file = stored_width(ctx), ctx.draft.config.file
    if stored == width and key == "hidden_size":
        return f'write "hidden_size": {width} into {file}: the draft\'s tensors are {width} wide'
    embedding = ctx.target.tensors.get("model.embed_tokens.weight")
    if embedding is not None and embedding.shape[1:] == (hidden,) and stored in (hidden, None):
        target = ctx.target.config.file if ctx.target.config is not None else ctx.target.shown
        return f'write "hidden_size": {hidden} into {target}: the tensors of both models are {hidden} wide'
    columns = fc.shape[1] if fc is not None and len(fc.shape) == 2 else 0
    if columns and columns % width == 0 and (key == "target_hidden_size" or columns % hidden):
        trained = f"if the draft was trained for {ctx.target.shown}"
        return f'write "target_hidden_size": {width} into {file} {trained}'
    return f"use a draft trained for {ctx.target.shown}, or the target that this draft was trained for"


def _lines(ctx: Context, expected: int, width: int) -> tuple[str, ...]:
    if ctx.boundaries is None or not ctx.boundaries.captured:
        return ()
    count = len(ctx.boundaries.captured)
    return (
        f"fc takes {count} × {expected} = {count * expected}",
        f"arrive:  {count} × {width} = {count * width}",
    )


RULE = Rule(
    id="EC222",
    slug="state-width",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_FIRST_REQUEST,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.TARGET_CONFIG),
    follows=UNLOADABLE,
    research=("SHP-01", "VOC-13"),
)
