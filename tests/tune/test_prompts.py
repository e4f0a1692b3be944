"""Prompt files: three kinds of line, and errors that name the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from eaglecfg.errors import UsageError
from eaglecfg.tune.prompts import read_prompts
from eaglecfg.tune.trial import Prompt


def test_ids_and_text_in_the_files_order(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text(
        '{"input_ids": [1, 2]}\n\n{"prompt": "é", "name": "x"}\n{"text": "b", "id": 7}\n', "utf-8"
    )
    assert read_prompts(path) == (Prompt("1", (1, 2)), Prompt("x", text="é"), Prompt("7", text="b"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "holds no prompts"),
        ("{", "prompts.jsonl:1: is not JSON"),
        ('{"prompt": "a"}\n[1]', "prompts.jsonl:2: expected a JSON object, got list"),
        ('{"input_ids": [1, "a"]}', "expected a list of token ids"),
        ('{"input_ids": [true]}', "expected a list of token ids"),
        ('{"input_ids": [-1]}', "expected a list of token ids"),
        ('{"input_ids": []}', "expected a list of token ids"),
        ('{"prompt": 5}', "prompt: expected text, got '5'"),
        ('{"question": "a"}', "expected one of input_ids, prompt or messages, got question"),
        ('{"messages": [{"role": "user", "content": "a"}]}', "has no tokenizer"),
    ],
)
def test_what_is_no_prompt_is_named_with_its_line(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text(content, "utf-8")
    with pytest.raises(UsageError) as caught:
        read_prompts(path)
    assert words in str(caught.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_prompts(tmp_path / "none.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(b'{"prompt": "\xe9"}')
    with pytest.raises(UsageError, match="not UTF-8"):
        read_prompts(tmp_path / "latin.jsonl")
