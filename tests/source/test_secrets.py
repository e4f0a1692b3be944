"""Secrets are told from everything else by name and by looks."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from eaglecfg.source.secrets import (
    is_secret_name,
    masked,
    redact_arguments,
    redact_data,
    redact_environment,
    redact_text,
)

ROOT = Path(__file__).parents[2]


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


HELD = (
    *("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "GITHUB_TOKEN_RO", "TOKEN", "AWS_SESSION_TOKEN", "ADMIN_TOKENS"),
    *("MY_DB_PASS", "DB_PWD", "PGPASSWORD", "MYSQL_PWD", "ROOT_PASSWORD", "REDIS_PASS_2"),
    *("WANDB_KEY", "OPENAI_API_KEY_2", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "SSH_PRIVATE_KEY"),
    *("AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS", "AUTH_COOKIE", "GCP_CREDENTIAL", "SLACK_WEBHOOK_URL"),
    *("NGROK_AUTHTOKEN", "REDISCLI_AUTH", "SGLANG_S3_SECRET_ACCESS_KEY", "SGLANG_API_KEY"),
    *("api-key", "--api-key", "admin_api_key", "apiKey", "hfToken", "dbPassword", "ssl_keyfile_password"),
)
FREE = (
    *("PWD", "OLDPWD", "KEYBOARD", "COMPASS", "PASSENGER", "MONKEY", "SASL_MECHANISM", "AUTHOR", "BYPASS"),
    *(
        "HF_TOKEN_PATH",
        "AWS_SHARED_CREDENTIALS_FILE",
        "COOKIE_NAME",
        "TOKENIZERS_PARALLELISM",
        "NCCL_IB_PKEY",
    ),
    *("CACHE_KEY", "sort_key", "routing_key", "SGLANG_LOG_DECODE_GRAPH_KEY", "key", "keys", "key_value"),
    *(
        "bos_token",
        "mask_token_id",
        "image_token_index",
        "MAX_NEW_TOKEN",
        "speculative_token_map",
        "per_token",
    ),
    *(
        "tokenizer_path",
        "max_total_tokens",
        "num_draft_tokens",
        "forward_pass",
        "self_attn.key",
        "chunked_prefill",
    ),
)


@pytest.mark.parametrize("name", HELD)
def test_names_that_hold_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", FREE)
def test_names_that_sound_like_it_and_hold_none(name: str) -> None:
    assert not is_secret_name(name)


def test_no_flag_of_the_engine_is_taken_for_a_secret_but_those_that_are() -> None:
    flags = json.loads((ROOT / "schemas/engines/sglang/flags.json").read_text())["flags"]
    assert {name for name in flags if is_secret_name(name)} == {
        "api_key",
        "admin_api_key",
        "ssl_keyfile_password",
    }


def test_no_variable_that_is_known_is_taken_for_a_secret_but_those_that_are() -> None:
    texts = [path.read_text() for path in (ROOT / "schemas").rglob("*.json")]
    names = {name for text in texts for name in re.findall(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b", text)}
    assert len(names) > 1000
    assert {name for name in names if is_secret_name(name)} <= {
        "HF_TOKEN",
        "SGLANG_DIFFUSION_SLACK_TOKEN",
        "SGLANG_PRECISION_HF_TOKEN",
        "SGLANG_S3_ACCESS_KEY_ID",
        "SGLANG_S3_SECRET_ACCESS_KEY",
    }


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("u:pw@h:1", "u:<redacted>@h:1"),
        ("redis://:pw@h:1/0", "redis://:<redacted>@h:1/0"),
        ("http://u:p@ss@h/", "http://u:<redacted>@h/"),
        ("https://h/?x=1&sig=AA%2B&token=b#c", "https://h/?x=1&sig=<redacted>&token=<redacted>#c"),
        ("args(api_key='secret', tp_size=2)", "args(api_key='<redacted>', tp_size=2)"),
        ("HF_TOKEN=${HF_TOKEN} run", "HF_TOKEN=${HF_TOKEN} run"),
        ("api_key=None", "api_key=None"),
        ("img:v1@sha256:1234", "img:v1@sha256:1234"),
        ("draft/fc.weight: 3 × 4096 = 12288", "draft/fc.weight: 3 × 4096 = 12288"),
        ("page_size=16&max_total_tokens=9", "page_size=16&max_total_tokens=9"),
    ],
)
def test_text_with_addresses_and_assignments(text: str, shown: str) -> None:
    assert redact_text(text) == shown
    assert redact_text(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("server: {api_key: abc def, tp: 2}", "server: {api_key: *******, tp: 2}"),
        ("env: {HF_TOKEN: 'abcd', NCCL_PROTO: LL}", "env: {HF_TOKEN: '****', NCCL_PROTO: LL}"),
        ("args: [--api-key, abc, --tp, 2]", "args: [--api-key, ***, --tp, 2]"),
        ("# start it with --api-key abc", "# start it with --api-key ***"),
        ("HF_TOKEN: ${HF_TOKEN}  # handed on", "HF_TOKEN: ${HF_TOKEN}  # handed on"),
        ("a: http://u:pw@h/x", "a: http://u:**@h/x"),
        ("tokenizer_path: /models/t", "tokenizer_path: /models/t"),
        ("HF_TOKEN:  # from the vault", "HF_TOKEN:  # from the vault"),
    ],
)
def test_lines_of_a_file_keep_their_columns(text: str, shown: str) -> None:
    assert masked(text) == shown
    assert len(shown) == len(text)


def test_data_under_a_secret_name_is_hidden_whatever_it_is() -> None:
    given = {"DB_PASS": 1234, "api_keys": ["a", 2], "secrets": {"a": {"b": "c"}}, "enable_api_key": True}
    assert redact_data(given) == {
        "DB_PASS": "<redacted>",
        "api_keys": ["<redacted>", "<redacted>"],
        "secrets": {"a": {"b": "<redacted>"}},
        "enable_api_key": True,
    }
    assert redact_data(["--api-key", "abc", "--tp", "2"]) == ["--api-key", "<redacted>", "--tp", "2"]


@pytest.mark.parametrize(
    "piece", ["x", "eyJ-", "sk-", "a://b:", "?x=", "api_key: ", "--a ", "u:p@", "key=", "@:"]
)
def test_no_text_takes_more_than_its_length(piece: str) -> None:
    begun = time.process_time()
    redact_text(piece * 30_000)
    masked(piece * 30_000)
    assert time.process_time() - begun < 1


def test_a_long_text_costs_no_more_than_its_length() -> None:
    text = "x" * 2_000_000  # tried from every letter on, this took minutes
    assert redact_text(text) == text
