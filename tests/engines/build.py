"""Small configs and arguments for the tests of the engine facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.engines.arguments import Argument
from eaglecfg.engines.facts import EngineFacts
from eaglecfg.engines.resolve import Resolution, resolve
from eaglecfg.engines.table import load_facts

KIMI = "KimiK25ForConditionalGeneration"


def facts(version: str = "0.5.23") -> EngineFacts:
    found = load_facts("sglang", version)
    assert found is not None
    return found


def target(architecture: str = "LlamaForCausalLM", **keys: Any) -> ModelConfig:
    raw = {
        "architectures": [architecture],
        "hidden_size": 512,
        "num_hidden_layers": 20,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "vocab_size": 4096,
        "max_position_embeddings": 8192,
        "torch_dtype": "bfloat16",
        **keys,
    }
    return ModelConfig("target/config.json", raw)


def draft(architecture: str = "LlamaForCausalLMEagle3", **keys: Any) -> ModelConfig:
    raw = {
        "architectures": [architecture],
        "model_type": "llama",
        "hidden_size": 512,
        "num_hidden_layers": 1,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "intermediate_size": 1024,
        "vocab_size": 4096,
        "draft_vocab_size": 1024,
        "max_position_embeddings": 8192,
        "torch_dtype": "bfloat16",
        **keys,
    }
    return ModelConfig("draft/config.json", {key: value for key, value in raw.items() if value != "absent"})


def given(**values: Any) -> dict[str, Argument]:
    return {name: Argument(name, value, ("server", name)) for name, value in values.items()}


def resolved(
    version: str = "0.5.23",
    of: ModelConfig | None = None,
    by: ModelConfig | None = None,
    env: Mapping[str, str] | None = None,
    **values: Any,
) -> Resolution:
    """What the version runs for an EAGLE3 deployment with these arguments."""
    values = {"speculative_algorithm": "EAGLE3", "speculative_draft_model_path": "draft", **values}
    kept = {name: value for name, value in values.items() if value is not None}
    return resolve(facts(version), given(**kept), of, by, env=env or {})
