"""The width of one attention head."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.config_classes import head_width, key_value_heads, shared_width
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, tensor_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.shapes.tensors import by_plain_name, draft_class, draft_config, left_by

QUERY, OUTPUT = "layers.0.self_attn.q_proj.weight", "layers.0.self_attn.o_proj.weight"


def check(ctx: Context) -> Iterator[Item]:
    """Rows of q_proj ÷ num_attention_heads must be the head_dim that the config gives or implies."""
    fact, draft, tensors = draft_class(ctx), draft_config(ctx), by_plain_name(ctx)
    heads, hidden, taken = (
        draft.integer("num_attention_heads"),
        draft.integer("hidden_size"),
        head_width(draft),
    )
    query, output = tensors.get(QUERY), tensors.get(OUTPUT)
    if fact is None or fact.family != "llama" or not heads or not hidden or taken is None or query is None:
        yield NotApplicable()
        return
    rows = query.shape[0] if len(query.shape) == 2 else 0
    columns = output.shape[1] if output is not None and len(output.shape) == 2 else rows
    # Only where q and o agree on a width is it the head that is wrong, and not the number of heads.
    if rows % heads or rows != columns or rows // heads == taken or not _keys_agree(ctx, rows // heads):
        return
    width, absent = rows // heads, draft.integer("head_dim") is None
    shared = shared_width(draft) == taken
    whole = "" if hidden % heads == 0 or not shared else f", rounded down from {hidden / heads:.2f}"
    origin = f"derived{whole}" if shared else f"assumed{left_by(draft, 'head_dim')}"
    yield Finding(
        f"head_dim must be {width} as in the draft's files, but {draft.file} has none and {taken} is {origin}"
        if absent
        else f"head_dim must be {width} as in the draft's files, but {draft.file} says {taken}",
        path=ctx.where("draft", "checkpoint"),
        today=Today.SILENT if taken < width else Today.CRASH_AT_START,
        why="rows of q, k and v and columns of o beyond the smaller width are cut off while loading, and "
        "nothing says so"
        if taken < width
        else "the files are smaller than the layers that SGLang builds: the load stops",
        help=f'write "head_dim": {width} into {draft.file}',
        evidence=(
            tensor_line(query, f"{rows} = {heads} × {width}"),
            config_line(draft, "head_dim"),
            config_line(draft, "num_attention_heads"),
            config_line(draft, "hidden_size"),
        ),
        values={"head_dim": draft.integer("head_dim"), "derived": taken, "in_files": width},
        arithmetic=(
            f"hidden_size ÷ num_attention_heads = {hidden} ÷ {heads} = {taken}"
            if absent and shared
            else f"head_dim = {taken}{left_by(draft, 'head_dim')}",
            f"rows of q_proj ÷ num_attention_heads = {rows} ÷ {heads} = {width}",
        ),
    )


def _keys_agree(ctx: Context, width: int) -> bool:
    """Whether k_proj has the configured number of heads at ``width``."""
    heads = key_value_heads(draft_config(ctx))
    key = by_plain_name(ctx).get("layers.0.self_attn.k_proj.weight")
    return heads is None or key is None or key.shape[:1] == (heads * width,)


RULE = Rule(
    id="EC230",
    slug="head-dim",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.DRAFT_TENSORS),
    follows=("EC262", *UNLOADABLE),
    research=("SHP-24",),
)
