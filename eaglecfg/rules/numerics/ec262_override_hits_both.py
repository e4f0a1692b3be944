"""json_model_override_args, which SGLang lays over both configs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eaglecfg.checkpoint.config import SPELLINGS, ModelConfig
from eaglecfg.checkpoint.jsonfiles import TEXT_KEYS
from eaglecfg.engines.config_classes import USUAL
from eaglecfg.engines.resolve import OVERRIDES, override_args
from eaglecfg.engines.wiring import Wiring, wiring_of
from eaglecfg.record import replace
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, key_line, shown
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.numerics.honoured import draft_fact

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

DEFAULTED = ("num_key_value_heads", "head_dim", "tie_word_embeddings")
"""Those that a config class fills in, differently for each, where the file has none."""

DEFAULT_ACT = "silu"
"""hidden_act of the draft's config classes where the file has none."""

HEADS = "num_attention_heads"
"""What the config of a text model must have (SGLang 0.5.23, srt/utils/hf_transformers/common.py:605)."""

NORM = "rms_norm_eps"
DEFAULT_NORM = 1e-6
"""rms_norm_eps of the config classes of USUAL_NORM where the file has none."""

USUAL_NORM = ("llama", "mistral", "qwen2", "qwen3")

STYLE = "rope_is_neox_style"
ROPE_KEYS = ("rope_theta", "rope_scaling", "rope_parameters", STYLE)
"""Those that the Llama draft classes read (SGLang 0.5.23, srt/models/llama.py:322-335)."""

ASSUMED = {"LlamaForCausalLM": 10000, "Qwen3ForCausalLM": 1000000}
"""Targets of which it was read what they run with where rope_parameters have no rope_theta (SGLang 0.5.14,
srt/models/llama.py:268, srt/models/qwen3.py:334)."""

BLOCKS = ("norm_output", "eagle_config", "eagle_aux_hidden_state_layer_ids")
"""Keys that change what the draft is fed with."""


def check(ctx: Context) -> Iterator[Item]:
    """An override must leave the draft what its config.json says it is.

    Keys to which a tensor testifies are for the rules of their own, which see the config with the override.
    """
    given = override_args(ctx.argument(OVERRIDES))
    if not given or not ctx.speculates or ctx.draft_file is None:
        yield NotApplicable()
        return
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    config, seen = ctx.draft_file, ctx.draft.config
    whole = _part(ctx, given) or _lost(ctx, given)
    if whole is not None:
        yield whole
        return
    changed = [key for key in given if seen.raw.get(key) != config.raw.get(key)]
    hard = [key for key in changed if key in SHAPES and _rebuilds(ctx, key)]
    unseen = [key for key in changed if key in BLOCKS and _rewires(ctx, key)]
    soft = [key for key in changed if _turns(ctx, key, given) or (key == NORM and _norms(ctx, given[NORM]))]
    said = (
        (hard, Severity.ERROR, "the draft is then built for other weights than it has"),
        (
            unseen,
            Severity.ERROR,
            "the draft then reads other states than in training, and no tensor tells",
        ),
        (soft, Severity.WARNING, "the draft then runs with other positions or norms than in training"),
    )
    for keys, severity, outcome in said:
        if not keys:
            continue
        key = keys[0]
        yield Finding(
            f"json_model_override_args sets {key} to {shown(given[key])} in the draft too, whose "
            f"{config.file} has "
            f"{shown(config.raw[key]) if key in config.raw else 'no such key'}",
            path=ctx.argument_path(OVERRIDES),
            severity=severity,
            why=f"SGLang applies the override to target and draft alike; {outcome}",
            help=f"write {key} into the target's config.json instead of overriding it"
            if keys is not unseen
            else f"take {key} out, or write it into {config.file} if the draft was trained so",
            evidence=tuple(config_line(config, name, "replaced by the override") for name in keys),
            values={name: given[name] for name in keys},
        )
        return


def _part(ctx: Context, given: Mapping[str, Any]) -> Finding | None:
    """A part meant for the target's text model, which the draft's config then has too, all but empty."""
    assert ctx.engine is not None
    assert ctx.draft_file is not None
    key = next((name for name in TEXT_KEYS if name in given), None)
    if key is None or any(name in ctx.draft_file.raw for name in TEXT_KEYS):
        return None
    part = given[key]
    if key == "thinker_config" and isinstance(part, dict) and "text_config" in part:
        part = part["text_config"]
    if not isinstance(part, dict) or HEADS in part:
        return None
    config = ctx.draft_file
    return Finding(
        f"json_model_override_args sets {key} in the draft too, whose {config.file} has no such part",
        path=ctx.argument_path(OVERRIDES),
        today=Today.CRASH_AT_START,
        why=f"SGLang applies the override to target and draft alike and then looks for the draft's {HEADS} "
        f"in {key}, where there is none: it stops while it reads the draft's config",
        help=f"write the change into the {key} of the target's config.json instead of overriding it",
        evidence=(
            key_line(config, key, "put there by the override"),
            key_line(config, HEADS, f"not looked for beside a {key}"),
        ),
        values={key: given[key]},
    )


def _lost(ctx: Context, given: Mapping[str, Any]) -> Finding | None:
    """An override of the rope that leaves rope_theta out where it replaces all that stands there."""
    assert ctx.engine is not None
    assert ctx.draft_file is not None
    key = next((name for name in reversed(list(given)) if name in SPELLINGS["rope"]), None)
    if key is None:
        return None
    from eaglecfg.engines.override_rope import LLAMA_THETA, lost_theta

    fact, target = draft_fact(ctx), ctx.target.config if ctx.target is not None else None
    losers: dict[str, tuple[ModelConfig, float, int]] = {}
    assumed = None if target is None else ASSUMED.get(target.architecture or "")
    # The target's config is seen with the override: a rope_theta of the override is not the file's.
    if target is not None and assumed is not None and "rope_theta" not in given:
        theta = lost_theta(ctx.engine, target, given, assumed)
        if theta is not None:
            losers["target"] = (target, theta, assumed)
    if fact is not None and fact.family == "llama":
        theta = lost_theta(ctx.engine, ctx.draft_file, given)
        if theta is not None:
            losers["draft"] = (ctx.draft_file, theta, LLAMA_THETA)
    if not losers:
        return None
    each = " and ".join(
        f"the {role} loses its rope_theta {theta:.10g} and runs with {instead}"
        for role, (_, theta, instead) in losers.items()
    )
    wanted = {theta for _, theta, _ in losers.values()}
    return Finding(
        f"json_model_override_args sets {key} without a rope_theta: {each}",
        path=ctx.argument_path(OVERRIDES),
        why=f"sglang {ctx.engine.version} keeps rope_theta inside rope_parameters, of which rope_scaling is "
        "another name, and the override replaces them whole, in target and draft alike",
        help=f'put "rope_theta": {next(iter(wanted)):.10g} into the {key} of the override'
        if len(wanted) == 1
        else f"write {key}, each with its own rope_theta, into the config.json of the model that it is for",
        evidence=tuple(
            config_line(config, "rope_theta", f"the {role}'s, replaced by the override")
            for role, (config, _, _) in losers.items()
        ),
        values={f"{role}.rope_theta": theta for role, (_, theta, _) in losers.items()},
    )


def _rebuilds(ctx: Context, key: str) -> bool:
    """Whether the override's ``key`` makes another draft of it than what the file leaves to its class."""
    assert ctx.draft_file is not None
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    if key in ctx.draft_file.raw:
        return True
    if key == "hidden_act":
        return bool(ctx.draft.config.raw[key] != DEFAULT_ACT)
    before, after = _wirings(ctx, key)
    return key not in DEFAULTED if before is None else before != after


def _turns(ctx: Context, key: str, given: Mapping[str, Any]) -> bool:
    """Whether ``key`` of the override is read in the draft and makes its positions turn in another way."""
    assert ctx.draft_file is not None
    fact = draft_fact(ctx)
    if key not in ROPE_KEYS:
        return key.startswith("rope_") and (fact is None or fact.family != "llama")
    if key == STYLE:
        return bool(given[key]) != bool(ctx.draft_file.raw.get(key, True))
    assert ctx.engine is not None
    from eaglecfg.engines.override_rope import rope_with

    before = rope_with(ctx.engine, ctx.draft_file, {})
    after = rope_with(ctx.engine, ctx.draft_file, {name: given[name] for name in ROPE_KEYS if name in given})
    if before is None or after is None:
        return True
    return before != after and rope_with(ctx.engine, ctx.draft_file, {key: given[key]}) != before


def _norms(ctx: Context, given: Any) -> bool:
    """Whether ``given`` is another rms_norm_eps than the draft's own."""
    assert ctx.draft_file is not None
    stands = ctx.draft_file.raw.get(NORM)
    if stands is None and ctx.draft_file.value("model_type", USUAL) in USUAL_NORM:
        stands = DEFAULT_NORM
    return bool(given != stands)


def _rewires(ctx: Context, key: str) -> bool:
    """Whether ``key`` changes the normed output or, where nothing else tells what was trained, the ids."""
    before, after = _wirings(ctx, key)
    if before is None or after is None:
        return False
    moved = ctx.trained is None and before.ids is not None and after.ids not in (None, before.ids)
    return before.norm_output != after.norm_output or moved


def _wirings(ctx: Context, key: str) -> tuple[Wiring | None, Wiring | None]:
    """The draft as its file has it, and with the override's ``key`` alone."""
    assert ctx.engine is not None
    assert ctx.draft_file is not None
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    config = ctx.draft_file
    target = ctx.target.config if ctx.target is not None else None
    alone = replace(config, raw={**config.raw, key: ctx.draft.config.raw.get(key)})
    return wiring_of(ctx.engine, target, config), wiring_of(ctx.engine, target, alone)


RULE = Rule(
    id="EC262",
    slug="override-hits-both",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    follows=("EC814", *UNLOADABLE),
    research=("OVR-01",),
)
