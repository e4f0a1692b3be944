"""What POST /generate accepts, and what it says to the rest."""

from __future__ import annotations

from typing import Any

import pytest

from eaglecfg.reference.failure import ReferenceFailure
from eaglecfg.reference.request import Limits, read_request

LIMITS = Limits(vocab=100, context=32, stop_ids=frozenset({0}))


def encode(text: str) -> list[int]:
    return [ord(letter) % 100 for letter in text]


def test_one_prompt_of_token_ids() -> None:
    asked = read_request({"input_ids": [1, 2, 3], "sampling_params": {"max_new_tokens": 5}}, LIMITS, None)
    assert not asked.batch
    assert not asked.stream
    assert asked.asks[0].prompt == (1, 2, 3)
    assert asked.asks[0].max_new_tokens == 5
    assert asked.asks[0].stop_ids == {0}


def test_a_batch_with_its_own_parameters_and_ids() -> None:
    params = [{"max_new_tokens": 1, "ignore_eos": True}, {"max_new_tokens": 2, "stop_token_ids": [7]}]
    body = {"input_ids": [[1], [2, 3]], "sampling_params": params, "rid": ["a", "b"], "stream": True}
    asked = read_request(body, LIMITS, None)
    assert asked.batch
    assert asked.stream
    assert [(ask.id, ask.index, ask.max_new_tokens) for ask in asked.asks] == [("a", 0, 1), ("b", 1, 2)]
    assert asked.asks[0].stop_ids == frozenset()
    assert asked.asks[1].stop_ids == {0, 7}


def test_text_goes_through_the_tokenizer() -> None:
    asked = read_request({"text": ["ab", "c"], "sampling_params": {"max_new_tokens": 1}}, LIMITS, encode)
    assert [ask.prompt for ask in asked.asks] == [(97, 98), (99,)]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ([], "expected a JSON object, got list"),
        ({}, "either text or input_ids"),
        ({"text": "a", "input_ids": [1]}, "either text or input_ids"),
        ({"text": "a"}, "no tokenizer"),
        ({"input_ids": []}, "a list of token ids"),
        ({"input_ids": [[]]}, "at least one token id"),
        ({"input_ids": [1, "2"]}, "at least one token id"),
        ({"input_ids": [1, True]}, "at least one token id"),
        ({"input_ids": [100]}, r"expected ids within 0\.\.99, got 100"),
        ({"input_ids": [-1]}, "got -1"),
        ({"input_ids": [1] * 32, "sampling_params": {"max_new_tokens": 1}}, "expected at most 32 tokens"),
        ({"input_ids": [1] * 30, "sampling_params": {"max_new_tokens": 3}}, "got 30 of the prompt and 3 new"),
        ({"input_ids": [1], "sampling_params": {"temperature": 0.7}}, "greedy, expected 0, got 0.7"),
        ({"input_ids": [1], "sampling_params": {"max_new_tokens": -1}}, "a number from 0, got -1"),
        ({"input_ids": [1], "sampling_params": {"max_new_tokens": 2, "n": 2}}, "expected 1, got 2"),
        ({"input_ids": [1], "sampling_params": {"max_new_tokens": 2, "regex": "a"}}, "regex: not supported"),
        ({"input_ids": [1], "sampling_params": [1, 2]}, "expected 1 entries, one a prompt, got 2"),
        ({"input_ids": [1], "sampling_params": "x"}, "expected an object, got str"),
        ({"input_ids": [1], "return_logprob": True}, "no log probabilities"),
        (
            {"input_ids": [[1], [2]], "sampling_params": {"max_new_tokens": 1}, "rid": ["a"]},
            "expected 2 entries",
        ),
    ],
)
def test_a_bad_request_is_told_what_is_expected(body: Any, said: str) -> None:
    with pytest.raises(ReferenceFailure, match=said):
        read_request(body, LIMITS, None)
