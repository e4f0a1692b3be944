"""config.json and the files beside it, read strictly; nested models and old spellings under one name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.checkpoint.config import ModelConfig
from tests.checkpoint.files import CONFIG, entry, folder_with, kinds, packed, read

WEIGHTS = {"model.safetensors": packed({"a": entry("U8", [1], 0, 1)}, 1)}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (b"", "is not JSON at line 1, column 1"),
        (b'{\n  "a": 1,\n}', "line 3, column 1"),
        (b"[1]", "a list"),
        (b"null", "null"),
        (b"\xef\xbb\xbf{}", "byte-order mark"),
        (b'{"a": "\xe9"}', "byte 7"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": -Infinity}', "-Infinity"),
        (b'{"a": 1e999}', "too large"),
        (b'{"a": ' + b"9" * 5000 + b"}", "thousands of digits"),
        (b'{"a": "\\ud83d"}', "half of a character"),
        (b'{"a":' * 70 + b"1" + b"}" * 70, "64 levels"),
        (b"[" * 200_000, "nested too deeply"),
    ],
)
def test_config_that_is_not_strict_json(text: bytes, part: str, tmp_path: Path) -> None:
    folder_with(tmp_path, {"config.json": text, **WEIGHTS})
    facts = read(tmp_path)
    assert kinds(facts) == ["config-malformed"]
    assert facts.config is None
    assert facts.problems[0].message.startswith("model/config.json ")
    assert part in facts.problems[0].message
    assert facts.tensors


def test_pairs_of_halves_are_characters(tmp_path: Path) -> None:
    folder_with(
        tmp_path, {"config.json": rb'{"a": "\ud83d\ude00", "b": "\\ud83d", "c": "\uD83D\uDE00"}', **WEIGHTS}
    )
    facts = read(tmp_path)
    assert facts.problems == ()
    assert facts.config is not None
    assert facts.config.raw == {"a": "😀", "b": "\\ud83d", "c": "😀"}


def test_key_twice_keeps_the_last_and_says_so(tmp_path: Path) -> None:
    folder_with(
        tmp_path, {"config.json": b'{"hidden_size": 8, "x": {"y": 1, "y": 1}, "hidden_size": 16}', **WEIGHTS}
    )
    facts = read(tmp_path)
    assert kinds(facts) == ["repeated-key", "duplicate-key"]
    assert "hidden_size twice (8 and 16)" in facts.problems[1].message
    assert facts.config is not None
    assert facts.config.integer("hidden_size") == 16


def test_config_above_the_limit(tmp_path: Path) -> None:
    folder_with(tmp_path, {"config.json": b'{"a": "' + b"x" * 9_000_000 + b'"}', **WEIGHTS})
    assert kinds(read(tmp_path)) == ["not-supported"]


@pytest.mark.parametrize(
    ("config", "key", "width"),
    [
        ({"hidden_size": 1}, None, 1),
        ({"hidden_size": 1, "text_config": {"hidden_size": 2}}, "text_config", 2),
        ({"llm_config": {"hidden_size": 3}, "text_config": {"hidden_size": 2}}, "llm_config", 3),
        ({"language_config": {"hidden_size": 4}}, "language_config", 4),
        ({"thinker_config": {"hidden_size": 5}}, "thinker_config", 5),
        ({"thinker_config": {"text_config": {"hidden_size": 6}}}, "thinker_config.text_config", 6),
        ({"hidden_size": 1, "text_config": "none"}, None, 1),
        ({"hidden_size": 1, "text_config": {"vocab_size": 9}}, "text_config", 1),
        (
            {"architectures": ["LlavaLlamaForCausalLM"], "hidden_size": 1, "text_config": {"hidden_size": 2}},
            None,
            1,
        ),
        ({"hidden_size": 1, "vision_config": {"hidden_size": 7}}, None, 1),
    ],
)
def test_text_model_is_found(config: dict[str, Any], key: str | None, width: int, tmp_path: Path) -> None:
    folder_with(tmp_path, WEIGHTS, config)
    facts = read(tmp_path)
    assert facts.config is not None
    assert facts.config.text_key == key
    assert facts.config.integer("hidden_size") == width
    found = facts.config.find("hidden_size")
    assert found is not None
    nested = key is not None and width != 1
    assert found.key == (f"{key}.hidden_size" if nested else "hidden_size")


def test_new_and_old_spellings(tmp_path: Path) -> None:
    folder_with(tmp_path, WEIGHTS, {"torch_dtype": "float16", "rope_scaling": {"factor": 2}})
    config = read(tmp_path).config
    assert config is not None
    assert config.value("dtype") == "float16"
    assert config.value("rope") == {"factor": 2}


def test_side_files_are_read(tmp_path: Path) -> None:
    sides = {
        "generation_config.json": {"eos_token_id": [1, 2]},
        "tokenizer_config.json": {"model_max_length": 4096},
        "eaglecfg-training.json": {"version": 1, "boundaries": [1, 2, 3]},
        "hf_quant_config.json": {"quantization": {"quant_algo": "FP8"}},
    }
    folder_with(tmp_path, {**WEIGHTS, **{name: json.dumps(value).encode() for name, value in sides.items()}})
    facts = read(tmp_path)
    assert facts.problems == ()
    read_as = [facts.generation_config, facts.tokenizer_config, facts.training, facts.quantization]
    assert read_as == list(sides.values())
    assert set(sides) < set(facts.files)


@pytest.mark.parametrize(
    "name", ["generation_config.json", "tokenizer_config.json", "eaglecfg-training.json"]
)
def test_side_file_that_is_broken(name: str, tmp_path: Path) -> None:
    folder_with(tmp_path, {**WEIGHTS, name: b"{"})
    facts = read(tmp_path)
    assert kinds(facts) == ["side-file-malformed"]
    assert facts.problems[0].incomplete == (name == "eaglecfg-training.json")


@pytest.mark.parametrize(
    ("name", "files", "expected"),
    [
        ("configuration_x.X", [], ["missing-code"]),
        ("configuration_x.X", ["configuration_x.py"], []),
        ("org/repo--configuration_x.X", [], []),
    ],
)
def test_code_that_the_config_needs(name: str, files: list[str], expected: list[str], tmp_path: Path) -> None:
    content = {**WEIGHTS, **dict.fromkeys(files, b"")}
    folder_with(tmp_path, content, {**CONFIG, "auto_map": {"AutoConfig": name}})
    assert kinds(read(tmp_path)) == expected


@pytest.mark.parametrize(
    ("architecture", "layers"), [("LongcatFlashForCausalLM", 28), ("LlamaForCausalLM", None)]
)
def test_num_layers_counts_layers_only_for_the_class_whose_config_takes_it(
    architecture: str, layers: int | None
) -> None:
    config = ModelConfig("config.json", {"architectures": [architecture], "num_layers": 28})
    assert config.integer("num_hidden_layers") == layers


def test_the_canonical_key_comes_before_the_spelling_of_the_class() -> None:
    raw = {"architectures": ["LongcatFlashForCausalLM"], "num_layers": 28, "num_hidden_layers": 14}
    assert ModelConfig("config.json", raw).integer("num_hidden_layers") == 14
