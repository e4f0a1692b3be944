"""Random prompts: of the target's vocabulary, without special tokens, the same everywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.cli.main import run
from eaglecfg.errors import UsageError
from eaglecfg.schema.study import RandomPrompts
from eaglecfg.tune.random_prompts import random_prompts
from tests.tune.folder import Folder


def wanted(**keys: Any) -> RandomPrompts:
    return RandomPrompts.model_validate({"count": 8, "input_tokens": 16, **keys})


def target(folder: Path, config: Any, **files: Any) -> Path:
    (folder / "t").mkdir()
    for name, data in {"config": config, **files}.items():
        (folder / "t" / f"{name}.json").write_text(json.dumps(data), encoding="utf-8")
    return folder


CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 12}


def test_they_are_the_same_for_the_same_seed_and_do_not_hang_on_their_count(tmp_path: Path) -> None:
    target(tmp_path, {**CONFIG, "vocab_size": 1000})
    first = random_prompts(wanted(), tmp_path, "t")
    assert [len(prompt.input_ids or ()) for prompt in first] == [16] * 8
    assert first == random_prompts(wanted(), tmp_path, "t")
    assert random_prompts(wanted(count=20), tmp_path, "t")[:8] == first
    assert random_prompts(wanted(seed=1), tmp_path, "t") != first
    assert first[0].input_ids[:4] == (350, 492, 709, 399)  # type: ignore[index]


def test_special_tokens_are_left_out_whichever_file_names_them(tmp_path: Path) -> None:
    config = {**CONFIG, "bos_token_id": 0, "eos_token_id": [1, 2], "text_config": {"pad_token_id": 3}}
    config |= {"image_token_index": 4, "torch_dtype": None}
    added = {"6": {"content": "<x>", "special": True}, "7": {"content": "y", "special": False}, "z": None}
    target(
        tmp_path,
        config,
        generation_config={"eos_token_id": 5},
        tokenizer_config={"added_tokens_decoder": added},
    )
    ids = {
        token
        for prompt in random_prompts(wanted(count=64), tmp_path, "t")
        for token in prompt.input_ids or ()
    }
    assert ids == {7, 8, 9, 10, 11}


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"model_type": "llama"}, "vocab_size"),
        ({**CONFIG, "vocab_size": "many"}, "vocab_size"),
        ({**CONFIG, "vocab_size": 2, "eos_token_id": [0, 1]}, "no ids are left"),
        ([], "vocab_size"),
    ],
)
def test_a_vocabulary_that_is_not_known_is_said(tmp_path: Path, config: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        random_prompts(wanted(), target(tmp_path, config), "t")


def test_a_target_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"workload\.random: expected a target whose config\.json"):
        random_prompts(wanted(), tmp_path, "org/model")


def test_a_study_runs_on_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Folder(target(tmp_path, {**CONFIG, "vocab_size": 1000}))
    folder.study(steps=[4])
    path = folder.path / "study.yaml"
    text = path.read_text(encoding="utf-8")
    random = "random: {count: 12, input_tokens: 32}"
    path.write_text(text.replace("prompts: prompts.jsonl", random), encoding="utf-8")
    assert run(folder.arguments) == 0, capsys.readouterr()
    assert len(folder.finished()) == 4
    rows = next((folder.record / "launches").glob("*/requests.jsonl")).read_text().splitlines()
    assert {json.loads(row)["prompt_tokens"] for row in rows} == {32}
    for wrong, words in (("prompts: a, " + random, "got both"), ("temperature: 0", "got neither")):
        path.write_text(text.replace("prompts: prompts.jsonl", wrong), encoding="utf-8")
        assert run(folder.arguments) == 2
        assert f"workload: expected prompts or random, {words}" in capsys.readouterr().err
