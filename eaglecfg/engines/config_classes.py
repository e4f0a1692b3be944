"""What a config class, which model_type names, assumes where config.json leaves a key out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.schema_files import read_schema

USUAL = "llama"
"""The model_type of nearly every draft; one without any is read as this."""


def class_of(config: ModelConfig) -> Mapping[str, Any] | None:
    """The assumptions of the config class of ``config``; None where that class was not read."""
    kind = config.value("model_type", USUAL)
    return table()["classes"].get(kind) if isinstance(kind, str) else None


@cache
def table() -> Mapping[str, Any]:
    """All that is known of the config classes, as the file has it."""
    found: Mapping[str, Any] = read_schema("engines", "sglang", "config_classes.json")
    return found


def key_value_heads(config: ModelConfig) -> int | None:
    """num_key_value_heads as the class has it; None where the file does not settle it."""
    found = config.find("num_key_value_heads")
    if found is not None and found.value is not None:
        return config.integer("num_key_value_heads")
    assumed = class_of(config)
    if assumed is None or (found is not None and not assumed["null_counts_heads"]):
        return None
    count: Any = assumed["num_key_value_heads"] if found is None else "heads"
    return config.integer("num_attention_heads") if count == "heads" else int(count)


def head_width(config: ModelConfig) -> int | None:
    """head_dim as the class has it: the key, the class's own, or a share of hidden_size, rounded down."""
    if config.value("head_dim") is not None:
        return config.integer("head_dim")
    assumed = class_of(config)
    width: Any = assumed["head_dim"] if assumed is not None else None
    return shared_width(config) if width == "share" else width


def shared_width(config: ModelConfig) -> int | None:
    """hidden_size ÷ num_attention_heads, rounded down."""
    hidden, heads = config.integer("hidden_size"), config.integer("num_attention_heads")
    return hidden // heads if hidden and heads else None


def activation(config: ModelConfig) -> str | None:
    """hidden_act as the class has it, ``none`` where it has no such key; None where it is not known."""
    if config.value("hidden_act") is not None:
        return str(config.value("hidden_act"))
    assumed = class_of(config)
    return None if assumed is None else str(assumed["hidden_act"]).lower()


def tied(config: ModelConfig) -> bool | None:
    """Whether head and embedding are one; None where the file leaves it to a class that was not read."""
    found = config.find("tie_word_embeddings")
    if found is not None:
        return bool(found.value)
    assumed = class_of(config)
    return None if assumed is None else bool(assumed["tie_word_embeddings"])


def biased(config: ModelConfig) -> bool:
    """Whether the class has attention_bias true and the file leaves it so."""
    return config.find("attention_bias") is None and config.value("model_type") in (
        *table()["attention_bias"],
    )
