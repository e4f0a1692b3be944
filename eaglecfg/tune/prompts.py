"""The prompts of a workload: a JSON Lines file whose lines have ``input_ids``, ``prompt`` or ``messages``."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from eaglecfg.errors import UsageError
from eaglecfg.tune.trial import Prompt

Render = Callable[[Sequence[Any]], tuple[int, ...]]


def read_prompts(path: Path, *, tokenizer: str | Path | None = None) -> tuple[Prompt, ...]:
    """All prompts of the file, in its order. ``tokenizer`` is the checkpoint whose chat template renders
    messages: a folder, or the id of one in the local hub cache. Messages become token ids, as a server that
    is given the rendered text would put a second beginning-of-sequence token before it.

    A prompt is named by the line's ``name`` or ``id``, else by its line number. Raises UsageError, naming
    file and line, for what is no prompt, and for an empty file.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"{path}: can't read the prompts: {reason}") from error
    render = _renderer(tokenizer)
    prompts = [_prompt(line, f"{path}:{n}", n, render) for n, line in enumerate(lines, 1) if line.strip()]
    if not prompts:
        raise UsageError(
            f"{path}: holds no prompts; write one JSON object with input_ids, prompt or messages a line"
        )
    return tuple(prompts)


def _prompt(line: str, where: str, number: int, render: Render) -> Prompt:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise UsageError(f"{where}: is not JSON: {error}") from error
    if not isinstance(row, dict):
        raise UsageError(f"{where}: expected a JSON object, got {type(row).__name__}")
    name = str(row.get("name", row.get("id", number)))
    ids = row.get("input_ids")
    if ids is not None:
        if not isinstance(ids, list) or not ids or not all(type(i) is int and i >= 0 for i in ids):
            raise UsageError(f"{where}: input_ids: expected a list of token ids, got {str(ids)[:60]}")
        return Prompt(name, input_ids=tuple(ids))
    text = row.get("prompt", row.get("text"))
    if text is not None:
        if not isinstance(text, str) or not text:
            raise UsageError(f"{where}: prompt: expected text, got {str(text)[:60]!r}")
        return Prompt(name, text=text)
    if isinstance(row.get("messages"), list):
        return Prompt(name, input_ids=_rendered(render, row["messages"], where))
    raise UsageError(
        f"{where}: expected one of input_ids, prompt or messages, got {', '.join(row) or 'nothing'}"
    )


def _rendered(render: Render, messages: Sequence[Any], where: str) -> tuple[int, ...]:
    try:
        ids = render(messages)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error
    if not ids:
        raise UsageError(f"{where}: messages: the chat template makes no tokens of them")
    return ids


def _no_template(tokenizer: str | Path, error: Exception) -> UsageError:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return UsageError(f"messages need the chat template of {tokenizer}, which cannot be used: {reason[:200]}")


def _renderer(tokenizer: str | Path | None) -> Render:
    """Renders messages with the checkpoint's chat template; the tokenizer is loaded for the first line that
    needs it."""
    loaded: list[Any] = []

    def render(messages: Sequence[Any]) -> tuple[int, ...]:
        if tokenizer is None:
            raise UsageError("messages need a chat template: the target's checkpoint has no tokenizer")
        if not loaded:
            try:
                from transformers import AutoTokenizer
            except ImportError as error:
                raise UsageError("messages need transformers: pip install 'eaglecfg[reference]'") from error
            try:
                loaded.append(AutoTokenizer.from_pretrained(str(tokenizer), local_files_only=True))
            except Exception as error:  # whatever its files make of it
                raise _no_template(tokenizer, error) from error
        try:
            text = loaded[0].apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
            # The template writes the special tokens that belong there.
            return tuple(map(int, loaded[0](text, add_special_tokens=False)["input_ids"]))
        except Exception as error:  # a template may do anything
            raise _no_template(tokenizer, error) from error

    return render
