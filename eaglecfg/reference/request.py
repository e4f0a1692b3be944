"""The body of ``POST /generate``, checked and taken apart into single prompts."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eaglecfg.reference.failure import ReferenceFailure

DEFAULT_NEW_TOKENS = 128  # sglang 0.5.14 srt/sampling/sampling_params.py
UNSUPPORTED = ("stop", "stop_regex", "regex", "json_schema", "ebnf", "structural_tag", "min_new_tokens")


@dataclass(frozen=True, slots=True)
class Limits:
    """What a prompt may be: ``vocab`` ids, ``context`` tokens with its output. ``stop_ids`` end a text."""

    vocab: int
    context: int
    stop_ids: frozenset[int]


@dataclass(frozen=True, slots=True)
class Ask:
    """One prompt of a request. ``index`` is its place in a batch."""

    id: str
    index: int
    prompt: tuple[int, ...]
    max_new_tokens: int
    stop_ids: frozenset[int]


@dataclass(frozen=True, slots=True)
class Asked:
    """A whole request. ``batch``: the body held a list of prompts, so the answer is a list."""

    asks: tuple[Ask, ...]
    stream: bool
    batch: bool


def read_request(body: Any, limits: Limits, encode: Callable[[str], Sequence[int]] | None) -> Asked:
    """Check a parsed body. ``encode`` is None without a tokenizer. Raises ReferenceFailure."""
    if not isinstance(body, Mapping):
        raise ReferenceFailure(f"expected a JSON object, got {type(body).__name__}")
    prompts, batch = _prompts(body, encode)
    params = body.get("sampling_params") or {}
    each = params if isinstance(params, list) else [params] * len(prompts)
    if len(each) != len(prompts):
        raise ReferenceFailure(
            f"sampling_params: expected {len(prompts)} entries, one a prompt, got {len(each)}"
        )
    if body.get("return_logprob"):
        raise ReferenceFailure("return_logprob: the reference decoder returns no log probabilities")
    rid = body.get("rid")
    ids = rid if isinstance(rid, list) else [rid or uuid.uuid4().hex] + [None] * (len(prompts) - 1)
    asks = tuple(
        _ask(str(name or uuid.uuid4().hex), i, prompt, one, limits)
        for i, (prompt, one, name) in enumerate(zip(prompts, each, ids, strict=False))
    )
    if len(asks) != len(prompts):
        raise ReferenceFailure(f"rid: expected {len(prompts)} entries, one a prompt, got {len(ids)}")
    return Asked(asks, bool(body.get("stream", False)), batch)


def _prompts(
    body: Mapping[str, Any], encode: Callable[[str], Sequence[int]] | None
) -> tuple[list[Any], bool]:
    text, ids = body.get("text"), body.get("input_ids")
    if (text is None) == (ids is None):
        raise ReferenceFailure("expected either text or input_ids")
    if text is not None:
        if encode is None:
            raise ReferenceFailure("text: this server has no tokenizer, expected input_ids")
        batch = isinstance(text, list)
        texts = text if batch else [text]
        if not texts or not all(isinstance(one, str) for one in texts):
            raise ReferenceFailure("text: expected a string or a list of strings")
        return [list(encode(one)) for one in texts], batch
    if not isinstance(ids, list) or not ids:
        raise ReferenceFailure("input_ids: expected a list of token ids, or a list of such lists")
    batch = isinstance(ids[0], list)
    return (ids if batch else [ids]), batch


def _ask(rid: str, index: int, prompt: Any, params: Any, limits: Limits) -> Ask:
    if not isinstance(params, Mapping):
        raise ReferenceFailure(f"sampling_params: expected an object, got {type(params).__name__}")
    if not isinstance(prompt, list) or not prompt or not all(type(one) is int for one in prompt):
        raise ReferenceFailure("input_ids: expected a list of at least one token id")
    outside = next((one for one in prompt if not 0 <= one < limits.vocab), None)
    if outside is not None:
        raise ReferenceFailure(f"input_ids: expected ids within 0..{limits.vocab - 1}, got {outside}")
    wanted = params.get("max_new_tokens", DEFAULT_NEW_TOKENS)
    if type(wanted) is not int or wanted < 0:
        raise ReferenceFailure(f"max_new_tokens: expected a number from 0, got {wanted!r}")
    if params.get("temperature", 0):
        raise ReferenceFailure(
            f"temperature: the reference decoder is greedy, expected 0, got {params['temperature']}"
        )
    if params.get("n", 1) != 1:
        raise ReferenceFailure(f"n: the reference decoder gives one answer, expected 1, got {params['n']}")
    for name in UNSUPPORTED:
        if params.get(name):
            raise ReferenceFailure(f"{name}: not supported by the reference decoder")
    if len(prompt) >= limits.context or len(prompt) + wanted > limits.context:
        raise ReferenceFailure(
            f"expected at most {limits.context} tokens, the model's context length, "
            f"got {len(prompt)} of the prompt and {wanted} new ones"
        )
    stops = frozenset() if params.get("ignore_eos") else limits.stop_ids
    return Ask(rid, index, tuple(prompt), wanted, stops | frozenset(params.get("stop_token_ids") or ()))
