from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.engines.config_classes import head_width, key_value_heads, tied
from eaglecfg.schema_files import read_schema
from tests.rules.pairs import check, serious

CLASSES: dict[str, dict[str, Any]] = read_schema("engines", "sglang", "config_classes.json")["classes"]
GIVEN = {"hidden_size": 960, "num_attention_heads": 24}


def config(kind: str | None, **keys: Any) -> ModelConfig:
    named = {} if kind is None else {"model_type": kind}
    return ModelConfig("draft/config.json", {**GIVEN, **named, **keys})


@pytest.mark.parametrize("kind", CLASSES)
def test_what_the_file_gives_counts_whatever_the_class(kind: str) -> None:
    given = config(kind, num_key_value_heads=6, head_dim=72, tie_word_embeddings=False)
    assert (key_value_heads(given), head_width(given), tied(given)) == (6, 72, False)
    assert tied(config(kind, tie_word_embeddings=True)) is True


@pytest.mark.parametrize(
    ("kind", "heads", "width", "ties"),
    [
        (None, 24, 40, False),
        ("llama", 24, 40, False),
        ("qwen2", 32, 40, False),
        ("qwen3", 32, 128, False),
        ("qwen3_moe", 4, 40, False),
        ("mistral", 8, None, False),
        ("gemma3_text", 4, 256, True),
        ("cohere", 24, 40, True),
        ("gpt_oss", 8, 64, False),
        ("llama4_text", 8, 128, False),
        ("starcoder2", 2, 40, True),
        ("a_class_of_ones_own", None, None, None),
    ],
)
def test_what_a_class_assumes(
    kind: str | None, heads: int | None, width: int | None, ties: bool | None
) -> None:
    absent = config(kind)
    assert (key_value_heads(absent), head_width(absent), tied(absent)) == (heads, width, ties)


def test_null_heads_are_as_many_as_the_others_in_some_classes_only() -> None:
    assert key_value_heads(config("llama", num_key_value_heads=None)) == 24
    assert key_value_heads(config("qwen3", num_key_value_heads=None)) == 24
    assert key_value_heads(config("gemma3_text", num_key_value_heads=None)) is None


def test_every_class_names_its_source() -> None:
    assert [
        kind for kind, row in CLASSES.items() if not re.match(r"models/\w+/\w+\.py:\d+$", row["source"])
    ] == []
    keys = {
        "num_key_value_heads",
        "head_dim",
        "tie_word_embeddings",
        "null_counts_heads",
        "hidden_act",
        "config_class",
        "source",
    }
    assert [kind for kind, row in CLASSES.items() if row.keys() != keys] == []


@pytest.mark.parametrize(
    "kind", [kind for kind, row in CLASSES.items() if row["head_dim"] not in ("share", 64)]
)
def test_a_head_width_left_to_the_class_never_passes_unseen(kind: str, tmp_path: Path) -> None:
    """The small draft's heads are 64 wide, as a share of hidden_size would have it."""
    report = check(tmp_path, draft={"config": {"model_type": kind, "head_dim": None}})
    said = serious(report).keys() & {"EC225", "EC230"}
    assert said or any("does not give head_dim" in skipped.reason for skipped in report.not_checked)


@pytest.mark.parametrize("kind", [*CLASSES, "a_class_of_ones_own"])
def test_key_value_heads_left_to_the_class_never_pass_unseen(kind: str, tmp_path: Path) -> None:
    """The small draft has 2 of them."""
    report = check(tmp_path, draft={"config": {"model_type": kind, "num_key_value_heads": None}})
    said = "EC225" in serious(report)
    assumed = CLASSES.get(kind, {"num_key_value_heads": None})["num_key_value_heads"]
    unknown = any("does not give num_key_value_heads" in skipped.reason for skipped in report.not_checked)
    assert (said, unknown) == (assumed not in (None, 2), assumed is None)


@pytest.mark.parametrize("kind", [*CLASSES, "a_class_of_ones_own"])
def test_tying_left_to_the_class_never_passes_unseen(kind: str, tmp_path: Path) -> None:
    report = check(tmp_path, draft={"config": {"model_type": kind, "tie_word_embeddings": None}})
    row = CLASSES.get(kind)
    assert ("EC247" in serious(report)) == (row is not None and row["tie_word_embeddings"])
    unknown = any("does not give tie_word_embeddings" in skipped.reason for skipped in report.not_checked)
    assert unknown == (row is None)


@pytest.mark.parametrize("kind", [*CLASSES, "a_class_of_ones_own"])
def test_an_activation_left_to_the_class_never_passes_unseen(kind: str, tmp_path: Path) -> None:
    report = check(tmp_path, draft={"config": {"model_type": kind, "hidden_act": None}})
    row = CLASSES.get(kind)
    assert ("EC231" in serious(report)) == (row is not None and row["hidden_act"] != "silu")
    assert any("does not give hidden_act" in skipped.reason for skipped in report.not_checked) == (
        row is None
    )
