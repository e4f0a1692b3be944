"""Keys that an MLA draft cannot do without."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.shapes.tensors import draft_class, draft_config

KEYS = ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")


def check(ctx: Context) -> Iterator[Item]:
    """The ranks and widths of latent attention must be numbers."""
    fact, draft = draft_class(ctx), draft_config(ctx)
    if fact is None or fact.family != "mla":
        yield NotApplicable()
        return
    missing = [key for key in KEYS if draft.integer(key) is None]
    if not missing:
        return
    key = missing[0]
    found = draft.find(key)
    state = "null" if found is not None else "absent"
    yield Finding(
        f"{fact.architecture} needs {' and '.join(missing)}, but {key} is {state} in {draft.file}",
        path=ctx.where("draft", "checkpoint"),
        why="the MLA draft compresses queries as well as keys; SGLang stops while it builds the layer",
        help=f"write {key} as in training into {draft.file}; a draft with ordinary heads is of class "
        "LlamaForCausalLMEagle3",
        evidence=tuple(config_line(draft, name) for name in missing),
        values=dict.fromkeys(missing),
    )


RULE = Rule(
    id="EC232",
    slug="mla-ranks",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    follows=UNLOADABLE,
    research=("SHP-23",),
)
