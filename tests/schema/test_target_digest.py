"""target_sha256 of a training record is compared with the target's weight file where --deep asks for it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from eaglecfg.rules.examples import materialize
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.runner import validate
from eaglecfg.source.read import read_document


def report(folder: Path, recorded: str | None, *, deep: bool = True) -> Report:
    record = {"version": 1, "boundaries": [3, 6, 9]}
    if recorded is not None:
        record["target_sha256"] = recorded  # type: ignore[assignment]
    path = materialize({"title": "", "draft": {"training": record}}, folder)
    found = validate([read_document(path)], deep=deep)
    assert not found.crashes
    return found


def said(found: Report) -> list[str]:
    messages = [one for one in found.findings if one.rule.id == "EC107"]
    assert all(one.severity is Severity.WARNING for one in messages)
    return [one.finding.message for one in messages]


def digest_of(folder: Path) -> str:
    report(folder, None)
    return hashlib.sha256((folder / "target" / "model.safetensors").read_bytes()).hexdigest()


@pytest.mark.parametrize("spelled", [str.lower, str.upper, "  {} ".format, "sha256:{}".format])
def test_the_target_of_the_training_is_known_again(spelled: object, tmp_path: Path) -> None:
    right = digest_of(tmp_path)
    assert said(report(tmp_path, spelled(right))) == []  # type: ignore[operator]


def test_another_target_is_named_and_no_error(tmp_path: Path) -> None:
    (message,) = said(report(tmp_path, "0" * 64))
    assert "target/model.safetensors is not the weight file" in message


@pytest.mark.parametrize("recorded", ["823d5633c09b", "z" * 64, "sha256:", "0" * 65])
def test_what_is_no_digest_is_not_compared(recorded: str, tmp_path: Path) -> None:
    messages = said(report(tmp_path, recorded))
    assert all("is no SHA-256" in message for message in messages)
    assert len(messages) == (recorded != "sha256:")


@pytest.mark.parametrize("recorded", [None, "0" * 64])
def test_no_weights_are_read_unless_it_is_asked_for(recorded: str | None, tmp_path: Path) -> None:
    found = report(tmp_path, recorded, deep=False)
    assert said(found) == []
    assert not [one for one in found.not_checked if one.rule.id == "EC107"]


def test_a_target_in_several_files_is_not_compared(tmp_path: Path) -> None:
    report(tmp_path, None)
    weights = tmp_path / "target" / "model.safetensors"
    (weights.parent / "model-00002.safetensors").write_bytes(weights.read_bytes())
    from eaglecfg.checkpoint.digest import weight_digest
    from eaglecfg.checkpoint.load import read_checkpoint
    from eaglecfg.record import replace

    facts = read_checkpoint(tmp_path, "target", role="target", deep=True)
    names = ("config.json", "model.safetensors", "model-00002.safetensors")
    several = weight_digest(replace(facts, files=names))
    assert "2 weight files" in several.problem
    assert "no weight file" in weight_digest(replace(facts, files=("config.json",))).problem


def test_a_file_that_is_gone_meanwhile_is_said_to_be(tmp_path: Path) -> None:
    from eaglecfg.checkpoint.digest import weight_digest
    from eaglecfg.checkpoint.load import read_checkpoint

    report(tmp_path, None)
    facts = read_checkpoint(tmp_path, "target", role="target", deep=True)
    (tmp_path / "target" / "model.safetensors").unlink()
    assert "not there" in weight_digest(facts).problem
