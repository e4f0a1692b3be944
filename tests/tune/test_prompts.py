"""Prompt files: three kinds of line, and errors that name the line."""

from __future__ import annotations

import json
import sys
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


TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'odd' %}"
    "{{ raise_exception('no role ' + message['role']) }}{% endif %}"
    "{{ message['role'] + ' ' + message['content'] + ' ' }}{% endfor %}"
    "{% if add_generation_prompt %}assistant{% endif %}"
)
WORDS = ["<s>", "<unk>", "user", "assistant", "hello", "world"]


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    """A checkpoint's tokenizer of six words, which puts <s> before every text by itself."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from tokenizers.processors import TemplateProcessing

    made = Tokenizer(WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="<unk>"))
    made.add_special_tokens(["<s>", "<unk>"])
    made.pre_tokenizer = Whitespace()
    made.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    folder = tmp_path / "target"
    folder.mkdir()
    made.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "chat_template": TEMPLATE}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def lines(folder: Path, *rows: object) -> Path:
    path = folder / "chat.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_messages_become_the_ids_of_the_checkpoints_own_chat_template(
    tmp_path: Path, tokenizer: Path
) -> None:
    chat = {"messages": [{"role": "user", "content": "hello world"}], "id": "a"}
    path = lines(tmp_path, chat, {"prompt": "hello"})
    # One <s>: rendered text would get a second one from the server.
    assert read_prompts(path, tokenizer=tokenizer) == (
        Prompt("a", (0, 2, 4, 5, 3)),
        Prompt("2", text="hello"),
    )


def test_a_template_that_refuses_is_said_with_the_line(tmp_path: Path, tokenizer: Path) -> None:
    odd = {"messages": [{"role": "odd", "content": "x"}]}
    with pytest.raises(UsageError, match=r"chat\.jsonl:2: messages need the chat template .* no role odd"):
        read_prompts(lines(tmp_path, {"prompt": "a"}, odd), tokenizer=tokenizer)


def test_messages_without_transformers_name_the_extra(
    tmp_path: Path, tokenizer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    path = lines(tmp_path, {"messages": [{"role": "user", "content": "x"}]})
    with pytest.raises(UsageError, match=r"pip install 'eaglecfg\[reference\]'"):
        read_prompts(path, tokenizer=tokenizer)
