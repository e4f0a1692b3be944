"""Secrets don't reach the disk; everything else does."""

from __future__ import annotations

import pytest

from eaglecfg.source.secrets import redact_arguments, redact_data, redact_environment, redact_text


def test_environment_values_of_secret_names_are_hidden() -> None:
    given = {
        "HF_TOKEN": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "OPENAI_API_KEY": "x",
        "NCCL_PROTO": "LL",
        "TOKENIZERS_PARALLELISM": "false",
        "EMPTY_TOKEN": "",
    }
    shown = redact_environment(given)
    hidden = {name for name, value in shown.items() if value == "<redacted>"}
    assert hidden == {"HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "OPENAI_API_KEY"}
    assert shown["NCCL_PROTO"] == "LL"
    assert list(shown) == sorted(shown)


def test_arguments_of_secret_flags_are_hidden_in_both_spellings() -> None:
    given = [
        "python",
        "--api-key",
        "x",
        "--admin-api-key=y",
        "--max-total-tokens",
        "9",
        "--tokenizer-path",
        "z",
    ]
    assert redact_arguments(given) == [
        "python",
        "--api-key",
        "<redacted>",
        "--admin-api-key=<redacted>",
        "--max-total-tokens",
        "9",
        "--tokenizer-path",
        "z",
    ]


def test_data_is_searched_at_any_depth() -> None:
    given = {"a": [{"api_key": "x", "max_tokens": 5}], "password": None, "num_draft_tokens": 3}
    assert redact_data(given) == {
        "a": [{"api_key": "<redacted>", "max_tokens": 5}],
        "password": None,
        "num_draft_tokens": 3,
    }


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see hf_ABCDEFGHIJKLMNOPQRSTUV.", "see <redacted>."),
        ("http://user:hunter2@host/x", "http://user:<redacted>@host/x"),
        ("at http://host:8000/x and a@b", "at http://host:8000/x and a@b"),
        ("step 3 of 7", "step 3 of 7"),
    ],
)
def test_text_that_looks_like_a_secret(text: str, shown: str) -> None:
    assert redact_text(text) == shown


def test_a_long_text_costs_no_more_than_its_length() -> None:
    text = "x" * 2_000_000  # tried from every letter on, this took minutes
    assert redact_text(text) == text
