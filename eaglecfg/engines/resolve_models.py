"""dtype, context length and quantisation of target and draft."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eaglecfg.checkpoint.config import GREATEST, ModelConfig, length
from eaglecfg.engines.numerals import engine_switch, whole
from eaglecfg.engines.resolve import Draftsheet, Origin

DTYPES = {
    "half": "float16",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float": "float32",
    "float32": "float32",
}
"""Spellings of a dtype that the engine takes, in flags and in config.json; any other counts as not given."""


def resolve_models(
    sheet: Draftsheet, target: ModelConfig | None, draft: ModelConfig | None, env: Mapping[str, str]
) -> None:
    """Settle what target and draft are loaded with. A missing config leaves its settings not known."""
    for role, config in (("target", target), ("draft", draft)):
        if config is not None:
            _dtype(sheet, role, config)
    if target is not None:
        _context(sheet, target, draft, env)
    _quantization(sheet)


def _dtype(sheet: Draftsheet, role: str, config: ModelConfig) -> None:
    flag = sheet.runs("dtype")
    found = config.find("dtype")
    stored = DTYPES.get(str(found.value).removeprefix("torch.")) if found is not None else None
    origin: Origin
    if isinstance(flag, str) and flag.lower() != "auto":
        runs, origin = DTYPES.get(flag.lower()), "asked"
        why = f"--dtype {flag} applies to target and draft alike"
    elif stored not in (None, "float32"):
        assert found is not None
        runs, origin, why = stored, "asked", f"{found.key} in {config.file}"
    else:
        table = sheet.facts.values["dtype_auto"]
        kind = str(config.value("model_type", ""))
        prefix = next((one for one in table["model_type_prefix"] if kind.startswith(one)), None)
        runs, origin = table["model_type_prefix"][prefix] if prefix else table["otherwise"], "default"
        why = f"{config.file} names {'float32' if stored else 'no dtype'}, which --dtype auto loads as {runs}"
    sheet.put(f"{role}.dtype", runs, origin, why, "dtype_auto")


def _context(
    sheet: Draftsheet, target: ModelConfig, draft: ModelConfig | None, env: Mapping[str, str]
) -> None:
    rule = sheet.facts.values["context"]
    overrides = engine_switch(env.get(rule["override_env"], "")) is True
    own, key = derived_context(target, rule)
    asked = whole(sheet.asked("context_length"))
    length = own if asked is None else asked
    name = "target.context_length"
    if asked is not None and own is not None and asked > own and not overrides:
        sheet.put(
            name, None, "refused", f"--context-length {asked} is above the target's own {own}", "context"
        )
        return
    why = "as given" if asked is not None else f"{key} in {target.file}"
    sheet.put(name, length, "default" if asked is None else "asked", why, "context")
    if draft is None or length is None:
        return
    own, key = derived_context(draft, rule)
    name = "draft.context_length"
    if own is None or length <= own:
        sheet.put(name, length, "default", "the draft runs with the target's context length", "context")
    elif overrides:
        why = f"{rule['override_env']} lets the draft run beyond its own {own}"
        sheet.put(name, length, "rewritten", why, "context")
    else:
        where = (
            f"{key} in {draft.file}"
            if key
            else f"the {own} that is assumed where {draft.file} names no length"
        )
        sheet.put(
            name,
            None,
            "refused",
            f"the target's {length} is above the draft's own {own} ({where})",
            "context",
        )


def derived_context(config: ModelConfig, rule: Mapping[str, Any]) -> tuple[int | None, str]:
    """(context length as the engine derives it, key it came from), rope factor applied."""
    rope = config.value("rope")
    factor: Any = 1
    if isinstance(rope, dict):
        scaled = "original_max_position_embeddings" not in rope and rope.get("rope_type") != "llama3"
        factor = rope.get("factor", 1) if scaled else 1
    if not isinstance(factor, (int, float)) or isinstance(factor, bool):
        factor = 1
    for name in rule["keys"]:
        found = config.find(name)
        if found is not None and found.value is not None:
            return _scaled(length(found.value), factor), found.key
    return rule["absent"], ""


def _scaled(own: int | None, factor: float) -> int | None:
    """``own`` times the rope factor, None where that is no length."""
    if own is None:
        return None
    scaled = factor * own
    return int(scaled) if 0 < scaled <= GREATEST else None


def _quantization(sheet: Draftsheet) -> None:
    explicit = sheet.asked("quantization")
    own = sheet.asked("speculative_draft_model_quantization")
    if own == "unquant":
        sheet.put("draft.quantization", None, "asked", "unquant opts out of the target's --quantization")
        own_flag = "speculative_draft_model_quantization"
        sheet.put(own_flag, None, "asked", "unquant is how none at all is spelled")
    elif own is not None:
        sheet.put("draft.quantization", own, "asked", "as given")
    elif explicit is not None:
        why = f"--quantization {explicit} is handed on to the draft, which names none of its own"
        sheet.put("draft.quantization", explicit, "default", why, "draft_quantization_inherits")
