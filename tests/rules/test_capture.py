"""What the capture rules say about whole deployments, beyond the examples of each rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eaglecfg.rules.examples import materialize
from eaglecfg.rules.model import Finding, Severity
from eaglecfg.rules.runner import validate
from eaglecfg.source.read import read_document

KIMI: dict[str, Any] = {
    "architectures": ["KimiK25ForConditionalGeneration"],
    "model_type": "kimi_k25",
    "num_hidden_layers": None,
    "text_config": {
        "model_type": "kimi_k2",
        "num_hidden_layers": 61,
        "hidden_size": 256,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "vocab_size": 1024,
    },
}
IDS = "eagle_aux_hidden_state_layer_ids"


def found(example: dict[str, Any], folder: Path) -> dict[str, Finding]:
    """Errors and warnings by rule id."""
    report = validate([read_document(materialize({"title": "", **example}, folder))])
    assert not report.crashes
    return {each.rule.id: each.finding for each in report.findings if each.severity is not Severity.INFO}


def kimi(version: str) -> dict[str, Any]:
    return {
        "engine": version,
        "deployment": {"capture": {"trained_boundaries": [3, 31, 59]}},
        "target": {"config": KIMI},
        "draft": {"config": {"eagle_config": {IDS: [2, 30, 58]}}},
    }


def test_same_files_are_right_in_one_version_and_wrong_in_the_next(tmp_path: Path) -> None:
    assert found(kimi("0.5.12"), tmp_path / "a") == {}
    later = found(kimi("0.5.14"), tmp_path / "b")
    assert set(later) == {"EC201"}
    assert "[3, 31, 59]" in later["EC201"].message
    assert "[2, 30, 58]" in later["EC201"].message
    assert "0.5.12" in later["EC201"].help
    assert "write [3, 31, 59]" in later["EC201"].help


def test_help_names_the_ids_that_hold_in_most_versions(tmp_path: Path) -> None:
    example = kimi("0.5.12")
    example["deployment"] = {"capture": {"trained_boundaries": [2, 30, 58]}}
    only = found(example, tmp_path)
    assert set(only) == {"EC201"}
    assert "write [1, 29, 57]" in only["EC201"].help


def test_a_depth_override_moves_the_default(tmp_path: Path) -> None:
    example: dict[str, Any] = {
        "deployment": {
            "capture": {"trained_boundaries": [2, 5, 7]},
            "server": {"json_model_override_args": '{"num_hidden_layers": 10}'},
        },
        "draft": {"config": {"eagle_config": None}},
    }
    assert "EC201" not in found(example, tmp_path)


def test_overridden_ids_are_those_that_count(tmp_path: Path) -> None:
    override = '{"eagle_config": {"eagle_aux_hidden_state_layer_ids": [4, 5, 6]}}'
    example = {"deployment": {"server": {"json_model_override_args": override}}}
    finding = found(example, tmp_path)["EC201"]
    assert "[5, 6, 7]" in finding.message
    line = next(each for each in finding.evidence if each.key.endswith(IDS))
    assert line.file.endswith("draft/config.json with json_model_override_args")
    assert line.line is None


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"eagle_config": None, IDS: [9, 1]}, "EC203"),
        ({"eagle_config": "text", IDS: [9, 1]}, "EC202"),
        ({"eagle_config": {IDS: [8, 2, 40]}}, "EC208"),
        ({"eagle_config": {IDS: [8, 8, 40]}}, "EC207"),
        ({"architectures": ["Eagle3Speculator"], "eagle_config": None, IDS: [9, 1]}, "EC504"),
    ],
)
def test_one_cause_is_one_finding(change: dict[str, Any], rule: str, tmp_path: Path) -> None:
    assert set(found({"draft": {"config": change}}, tmp_path)) == {rule}


def test_evidence_points_at_the_line_of_the_draft_config(tmp_path: Path) -> None:
    example = {"draft": {"config": {"eagle_config": {IDS: [3, 6, 9]}}}}
    finding = found(example, tmp_path)["EC201"]
    line = next(each for each in finding.evidence if each.key.endswith(IDS))
    assert line.line is not None
    text = (tmp_path / "draft" / "config.json").read_text(encoding="utf-8").splitlines()[line.line - 1]
    assert IDS in text
    assert finding.arithmetic == ("3 + 1 = 4, 6 + 1 = 7, 9 + 1 = 10",)


def test_speculation_off_says_nothing_about_capture(tmp_path: Path) -> None:
    example = {
        "deployment": {"speculative": "off"},
        "draft": {"config": {"eagle_config": {IDS: [3, 6, 9]}}},
    }
    assert found(example, tmp_path) == {}
