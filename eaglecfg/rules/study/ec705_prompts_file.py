"""The prompts of a study must be there, and every line of the file a prompt."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import shown
from eaglecfg.rules.model import Evidence, Finding, Item, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.study.parts import resolved, state_of, study_model

_MAX_BYTES = 64 * 1024 * 1024
"""A check must answer within a second or two; a study needs thousands of prompts, not millions."""

_MAX_LINE = 8 * 1024 * 1024
"""A prompt of a million tokens as ids has about 7 MB."""

_PATH = ("workload", "prompts")
_HELP = 'write one JSON object per line, with "prompt", "input_ids" or "messages"'


def check(context: Context) -> Iterator[Item]:
    """Read the file line by line; the first line that is no prompt is reported."""
    study = study_model(context)
    if study is None:
        yield NotChecked("the study file lacks keys that it needs")
        return
    name = study.workload.prompts
    if name is None:
        yield NotApplicable()
        return
    path = resolved(context, name)
    if not os.path.isfile(path):  # noqa: PTH113 - a Path raises for names that are too long
        yield Finding(
            f"workload.prompts names {name}, which {state_of(path)}",
            path=_PATH,
            why="the server would have nothing to answer",
            help="write the path of a JSON Lines file, relative to the study file",
            incomplete=True,
        )
        return
    try:
        yield from _lines(path, name, study.workload.holdout)
    except OSError as error:
        yield Finding(
            f"workload.prompts names {name}, which cannot be read ({error.strerror})",
            path=_PATH,
            why="the server would have nothing to answer",
            help="check its permissions",
            incomplete=True,
        )


def _lines(path: Path, name: str, holdout: float) -> Iterator[Item]:
    prompts = read = number = 0
    with path.open("rb") as file:
        while raw := file.readline(_MAX_LINE + 1):
            number += 1
            read += len(raw)
            fault = f"is longer than {_MAX_LINE // 2**20} MiB" if len(raw) > _MAX_LINE else _fault(raw)
            if fault is not None:
                text = shown(raw[:60].decode("utf-8", "replace").rstrip())
                yield Finding(
                    f"line {number} of {name} {fault}",
                    path=_PATH,
                    why="a study stops at a prompt that it cannot read",
                    help=_HELP,
                    evidence=(Evidence(name, "", text, "", number, 1),),
                )
                return
            prompts += bool(raw.strip())
            if read > _MAX_BYTES:
                reason = f"{name}: only the first {_MAX_BYTES // 2**20} MiB were read"
                yield NotChecked(reason)
                return
    if not prompts:
        yield Finding(f"{name} holds no prompts", path=_PATH, why="there is nothing to measure", help=_HELP)
    elif 0 < holdout < 1 and round(prompts * holdout) in (0, prompts):
        yield Finding(
            f"{name} has {prompts} prompts, too few to keep a share of {holdout:g} for the final claim",
            path=_PATH,
            severity=Severity.WARNING,
            why="search and claim would rest on the same prompts",
            help="add prompts",
        )


def _fault(raw: bytes) -> str | None:
    """What keeps one line from being a prompt, None where it is one or empty."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return "is not UTF-8 text"
    if not text.strip():
        return None
    try:
        row: Any = json.loads(text)
    except (ValueError, RecursionError):
        return "is not JSON"
    if not isinstance(row, dict):
        return "is not a JSON object"
    ids, words = row.get("input_ids"), row.get("prompt", row.get("text"))
    if ids is not None:
        if isinstance(ids, list) and ids and all(type(each) is int and each >= 0 for each in ids):
            return None
        return f"has the input_ids {shown(ids)}, where a list of token ids is expected"
    if words is not None:
        return None if isinstance(words, str) and words else f"has the prompt {shown(words)}, no text"
    if isinstance(row.get("messages"), list):
        return None
    return f"has none of input_ids, prompt and messages, but {', '.join(map(str, row))[:60] or 'no keys'}"


RULE = Rule(
    id="EC705",
    slug="prompts-file",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=check,
    scope="study",
)
