"""json_model_override_args, which SGLang lays over both configs."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.resolve import override_args
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, shown
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today

FLAG = "json_model_override_args"
SHAPES = (
    "architectures",
    "num_hidden_layers",
    "hidden_size",
    "intermediate_size",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "vocab_size",
    "tie_word_embeddings",
    "hidden_act",
)
"""Keys that size or choose modules: another value than the draft's own means another draft."""


def check(ctx: Context) -> Iterator[Item]:
    """An override must leave the draft what its config.json says it is."""
    given = override_args(ctx.argument(FLAG))
    if not given or not ctx.speculates:
        yield NotApplicable()
        return
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    config = ctx.draft.config
    changed = [key for key, value in given.items() if config.raw.get(key) != value]
    hard = [key for key in changed if key in SHAPES]
    soft = [key for key in changed if key.startswith("rope_")]
    for keys, severity in ((hard, Severity.ERROR), (soft, Severity.WARNING)):
        if not keys:
            continue
        key = keys[0]
        yield Finding(
            f"json_model_override_args sets {key} to {shown(given[key])} in the draft too, whose "
            f"{config.file} has "
            f"{shown(config.raw[key]) if key in config.raw else 'no such key'}",
            path=ctx.argument_path(FLAG),
            severity=severity,
            why="SGLang applies the override to target and draft alike; the draft is then built for other "
            "weights than it has"
            if severity is Severity.ERROR
            else "SGLang applies the override to target and draft alike; the draft then runs with other "
            "positions than in training",
            help=f"write {key} into the target's config.json instead of overriding it",
            evidence=tuple(config_line(config, name, "replaced by the override") for name in keys),
            values={name: given[name] for name in keys},
        )
        return


RULE = Rule(
    id="EC262",
    slug="override-hits-both",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    follows=UNLOADABLE,
    research=("OVR-01",),
)
