"""A config's dtype is a name inside torch, for the model and for each of its parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eaglecfg.rules.model import Severity
from tests.rules.pairs import check
from tests.rules.test_capture import KIMI


def messages(folder: Path, version: str = "0.5.14", **example: Any) -> list[str]:
    report = check(folder, title="", engine=version, **example)
    assert not report.crashes
    found = [one for one in report.findings if one.rule.id == "EC814"]
    assert all(one.severity is Severity.ERROR for one in found)
    return [f"{one.finding.message} | {one.finding.help}" for one in found]


@pytest.mark.parametrize("version", ["0.5.4.post1", "0.5.6.post1", "0.5.9", "0.5.10", "0.5.14", "0.5.23"])
@pytest.mark.parametrize("key", ["dtype", "torch_dtype"])
def test_what_python_prints_is_no_name_in_any_version(version: str, key: str, tmp_path: Path) -> None:
    spelled = {"dtype": None, "torch_dtype": None, key: "torch.bfloat16"}
    (found,) = messages(tmp_path, version, target={"config": spelled})
    assert '"torch.bfloat16"' in found
    assert "write bfloat16" in found


@pytest.mark.parametrize("value", ["bfloat16", "float16", "half", "float", None])
def test_names_that_torch_has_are_taken(value: str | None, tmp_path: Path) -> None:
    both = {"config": {"dtype": value}}
    assert messages(tmp_path, target=both, draft=both) == []


def test_the_newer_key_wins_over_the_older(tmp_path: Path) -> None:
    both = {"dtype": "bfloat16", "torch_dtype": "torch.bfloat16"}
    assert messages(tmp_path, target={"config": both}) == []


@pytest.mark.parametrize("part", ["text_config", "vision_config", ""])
def test_every_part_of_a_multimodal_target_has_its_own(part: str, tmp_path: Path) -> None:
    config = {**KIMI, "vision_config": {"hidden_size": 64}}
    wrong = {"dtype": "torch.bfloat16"}
    config = {**config, **wrong} if not part else {**config, part: {**config[part], **wrong}}
    (found,) = messages(tmp_path, target={"config": config})
    assert (f"{part}.dtype" if part else "dtype in") in found


def test_objects_that_are_no_part_of_a_model_may_hold_anything(tmp_path: Path) -> None:
    stray = {"text_config": {"dtype": "torch.bfloat16"}, "generation_config": {"dtype": "torch.bfloat16"}}
    assert messages(tmp_path, draft={"config": {"eagle_config": {"dtype": "torch.bfloat16"}}}) == []
    assert (
        messages(tmp_path / "b", target={"config": {"generation_config": stray["generation_config"]}}) == []
    )
