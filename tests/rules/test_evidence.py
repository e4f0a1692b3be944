"""What evidence shows is what the finding speaks of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.pairs import check

INNER = {
    "model_type": "gemma3_text",
    "architectures": ["Gemma3ForCausalLM"],
    "num_hidden_layers": 12,
    "hidden_size": 256,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 1024,
}


def test_the_class_shown_is_that_of_the_whole_model_and_not_of_its_text_part(tmp_path: Path) -> None:
    config = {
        "architectures": ["Gemma3ForConditionalGeneration"],
        "model_type": "gemma3",
        "text_config": INNER,
    }
    report = check(tmp_path, engine="0.5.11", target={"config": config})
    (told,) = [each.finding for each in report.findings if each.rule.id == "EC508"]
    shown = [(each.key, each.text) for each in told.evidence if each.key.endswith("architectures")]
    assert "Gemma3ForConditionalGeneration" in told.message
    assert shown == [("architectures", '["Gemma3ForConditionalGeneration"]')]


@pytest.mark.parametrize("port", ["30_000", "+30000", " 30000", "030000"])
def test_a_number_that_python_reads_is_a_number(port: str, tmp_path: Path) -> None:
    report = check(tmp_path, deployment={"server": {"port": port}})
    assert "EC303" not in {each.rule.id for each in report.findings}


@pytest.mark.parametrize("port", ["30__000", "_30000", "30 000", "0x7530", "3e4", "30000.0"])
def test_a_number_that_python_does_not_read_is_refused(port: str, tmp_path: Path) -> None:
    report = check(tmp_path, deployment={"server": {"port": port}})
    assert "EC303" in {each.rule.id for each in report.findings}
