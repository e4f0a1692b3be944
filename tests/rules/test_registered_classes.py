"""Variables that change which classes the engine registers: a package of models, and modules left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Report
from tests.rules.pairs import check

PACKAGE, LEFT_OUT = "SGLANG_EXTERNAL_MODEL_PACKAGE", "SGLANG_DISABLED_MODEL_ARCHS"
DEFAULT = {
    "deployment": {"capture": {"trained_boundaries": [2, 6, 9]}},
    "draft": {"config": {"eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 5, 8]}}},
}


def report(folder: Path, env: dict[str, str], **example: Any) -> Report:
    deployment = {**example.pop("deployment", {}), "env": env}
    found = check(folder, title="", deployment=deployment, **example)
    assert not found.crashes
    return found


def errors(found: Report) -> set[str]:
    return {one.rule.id for one in found.findings if one.severity is Severity.ERROR}


def unchecked(found: Report) -> dict[str, str]:
    return {one.rule.id: one.reason for one in found.not_checked}


def test_a_class_that_a_package_may_bring_is_not_said_to_be_unknown(tmp_path: Path) -> None:
    target = {"config": {"architectures": ["OurForCausalLM"]}}
    found = report(tmp_path / "with", {PACKAGE: "our_models"}, target=target)
    assert "EC508" not in errors(found)
    assert "our_models" in unchecked(found)["EC508"]
    assert "EC508" in errors(report(tmp_path / "empty", {PACKAGE: ""}, target=target))


def test_a_class_that_a_package_may_replace_is_named(tmp_path: Path) -> None:
    found = report(tmp_path, {PACKAGE: "our_models"})
    assert not errors(found)
    assert "LlamaForCausalLM of its own" in unchecked(found)["EC508"]


def test_a_package_that_whoever_launches_names_is_not_known(tmp_path: Path) -> None:
    found = report(tmp_path, {PACKAGE: "${" + PACKAGE + "}"})
    assert not errors(found)
    assert "EC508" in unchecked(found)


@pytest.mark.parametrize(
    ("draft", "rule", "version"),
    [("OurEagle3Draft", "EC504", "0.5.14"), ("Eagle3DeepseekV2ForCausalLM", "EC507", "0.5.9")],
)
def test_a_package_may_bring_the_class_of_the_draft(
    draft: str, rule: str, version: str, tmp_path: Path
) -> None:
    config = {"config": {"architectures": [draft]}}
    assert rule in errors(report(tmp_path / "without", {}, draft=config, engine=version))
    assert rule not in errors(
        report(tmp_path / "with", {PACKAGE: "our_models"}, draft=config, engine=version)
    )


def test_before_0_5_6_no_package_is_loaded(tmp_path: Path) -> None:
    target = {"config": {"architectures": ["OurForCausalLM"]}}
    assert "EC508" in errors(report(tmp_path, {PACKAGE: "our_models"}, target=target, engine="0.5.5.post3"))


@pytest.mark.parametrize("listed", ["llama", "llama_eagle3", " qwen2 , llama"])
def test_a_module_that_is_needed_must_not_be_left_out(listed: str, tmp_path: Path) -> None:
    assert "EC514" in errors(report(tmp_path, {LEFT_OUT: listed}))


@pytest.mark.parametrize("listed", ["", ",", "llama4", "LlamaForCausalLM", "Llama", "qwen2;llama"])
def test_names_that_are_no_module_of_the_two_are_none_of_our_business(listed: str, tmp_path: Path) -> None:
    assert "EC514" not in errors(report(tmp_path, {LEFT_OUT: listed}))


@pytest.mark.parametrize(
    ("version", "read"), [("0.5.5.post2", False), ("0.5.5.post3", True), ("0.5.23", True)]
)
def test_the_list_is_read_from_0_5_5_post3_on(version: str, read: bool, tmp_path: Path) -> None:
    assert ("EC514" in errors(report(tmp_path, {LEFT_OUT: "llama"}, engine=version, **DEFAULT))) is read


def test_without_speculation_transformers_may_run_the_class(tmp_path: Path) -> None:
    off = {"draft": None, "capture": None, "speculative": "off"}
    assert "EC514" not in errors(report(tmp_path, {LEFT_OUT: "llama"}, deployment=off))
