"""What the rules about checkpoint files say the engine does, beyond the examples of each rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eaglecfg.rules.examples import materialize
from eaglecfg.rules.model import Today
from eaglecfg.rules.runner import validate
from eaglecfg.source.read import read_document


@pytest.mark.parametrize(
    ("example", "today"),
    [
        ({"remove": ["draft/model.safetensors"]}, Today.REFUSED),
        ({"draft": {"shards": 2}, "remove": ["draft/model-00002-of-00002.safetensors"]}, Today.SILENT),
    ],
)
def test_only_a_shard_among_others_is_missed_in_silence(
    tmp_path: Path, example: dict[str, Any], today: Today
) -> None:
    materialize({"engine": "0.5.9", **example}, tmp_path)
    report = validate([read_document(tmp_path / "eaglecfg.yaml")], select=["EC803"])
    assert [found.finding.today or found.rule.today for found in report.findings] == [today]
