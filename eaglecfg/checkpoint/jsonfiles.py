"""config.json and the JSON files beside it."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.checkpoint.facts import FileProblem
from eaglecfg.checkpoint.fault import FileFault, legible
from eaglecfg.checkpoint.limits import MAX_CONFIG_BYTES, MAX_TOKENIZER_BYTES
from eaglecfg.checkpoint.regular import read_small
from eaglecfg.checkpoint.strictjson import JsonFault, Repeated, parse_object

CONFIG = "config.json"
TRAINING = "eaglecfg-training.json"
GENERATION = "generation_config.json"
TOKENIZER = "tokenizer_config.json"
QUANTIZATION = "hf_quant_config.json"
MISTRAL = "params.json"

TEXT_KEYS = ("thinker_config", "llm_config", "language_config", "text_config")
"""Keys of a nested text model, the one that counts first (SGLang 0.5.12-0.5.23, ``get_hf_text_config``)."""


def read_config(folder: str, shown: str) -> tuple[ModelConfig | None, list[FileProblem]]:
    """The model's config and what is wrong with it. Of a repeated key the last value counts."""
    file = f"{shown}/{CONFIG}"
    try:
        raw, repeated, text = parse_object(read_small(os.path.join(folder, CONFIG), file, MAX_CONFIG_BYTES))  # noqa: PTH118
    except FileFault as fault:
        problem = fault.problem
        if problem.kind == "missing-file" and not os.path.lexists(os.path.join(folder, CONFIG)):  # noqa: PTH118
            if os.path.lexists(os.path.join(folder, MISTRAL)):  # noqa: PTH118
                message = f"{shown} has {MISTRAL} in place of config.json, which is not read"
                return None, [FileProblem("not-supported", file, message, "", True)]
            help = "name the folder that holds config.json and the weights"
            problem = FileProblem("missing-config", file, f"{shown} has no config.json", help, True)
        return None, [problem]
    except JsonFault as fault:
        help = "repair the file, or download it again"
        return None, [
            FileProblem("config-malformed", file, f"{file} {fault.message}", help, True, fault.place)
        ]
    problems = [_repeated(file, item) for item in repeated]
    return ModelConfig(file, raw, text, text_key(raw)), problems


def missing_code(config: ModelConfig, shown: str, present: Collection[str]) -> list[FileProblem]:
    """Python files that ``auto_map`` takes the model's config class from and that are not in the folder."""
    auto_map = config.raw.get("auto_map")
    name = auto_map.get("AutoConfig") if isinstance(auto_map, dict) else None
    if not isinstance(name, str) or "--" in name:  # org/repo--module.Class is fetched from elsewhere
        return []
    file = f"{name.rpartition('.')[0]}.py"
    if file in present:
        return []
    message = f"{config.file} takes its config class from {legible(file)}, which is not in {shown}"
    help = "download the Python files of the checkpoint too"
    return [
        FileProblem("missing-code", config.file, message, help, False, "auto_map.AutoConfig", legible(name))
    ]


def text_key(raw: Mapping[str, Any]) -> str | None:
    """The dotted path of the nested text model's config, None where the text model is the top level."""
    names = raw.get("architectures")
    first = names[0] if isinstance(names, list) and names else None
    if isinstance(first, str) and first.startswith("Llava") and first.endswith("ForCausalLM"):
        return None  # original LLaVA checkpoints carry an unused default text_config
    for key in TEXT_KEYS:
        nested = raw.get(key)
        if isinstance(nested, dict):
            inner = key == "thinker_config" and isinstance(nested.get("text_config"), dict)
            return f"{key}.text_config" if inner else key
    return None


def read_side_file(folder: str, shown: str, name: str) -> tuple[Mapping[str, Any] | None, list[FileProblem]]:
    """An optional JSON object beside config.json: None without a problem where there is no such file."""
    path, file = os.path.join(folder, name), f"{shown}/{name}"  # noqa: PTH118
    if not os.path.lexists(path):
        return None, []
    limit = MAX_TOKENIZER_BYTES if name == TOKENIZER else MAX_CONFIG_BYTES
    try:
        raw, repeated, _ = parse_object(read_small(path, file, limit))
    except FileFault as fault:
        return None, [fault.problem]
    except JsonFault as fault:
        help = "repair the file, or remove it"
        needed = name == TRAINING  # it alone says what the draft was trained on
        return None, [
            FileProblem("side-file-malformed", file, f"{file} {fault.message}", help, needed, fault.place)
        ]
    return raw, [_repeated(file, item) for item in repeated]


def _repeated(file: str, item: Repeated) -> FileProblem:
    first, last = _shown(item.first), _shown(item.last)
    values = f" ({first} and {last})" if first != last else ""
    message = f"{file} gives {legible(item.key)} twice{values}; readers keep the last"
    kind = "duplicate-key" if first != last else "repeated-key"
    return FileProblem(kind, file, message, "keep one of them", False, item.key, last)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "{…}"
    return legible(str(value)[:60])
