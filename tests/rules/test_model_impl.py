"""model_impl puts a class that captures nothing in the place of the target's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eaglecfg.engines.table import known_versions
from eaglecfg.report.styled import plain
from eaglecfg.report.trace import render
from eaglecfg.rules.context import Checkpoints, Context, deployment_context
from eaglecfg.rules.examples import materialize
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Report
from eaglecfg.schema.load import load_config
from eaglecfg.source.read import read_document
from tests.rules.pairs import check

EIGHT = {"eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 5, 8]}}
TRAINED = {"trained_boundaries": [2, 6, 9]}


def asks(
    version: str, implementation: str, *, target: str = "LlamaForCausalLM", **more: Any
) -> dict[str, Any]:
    return {
        "title": "",
        "engine": version,
        "target": {"config": {"architectures": [target]}},
        "draft": {"config": EIGHT},
        "deployment": {"capture": TRAINED, "server": {"model_impl": implementation, **more}},
    }


def errors(report: Report) -> dict[str, str]:
    assert not report.crashes
    return {one.rule.id: one.finding.message for one in report.findings if one.severity is Severity.ERROR}


def context(folder: Path, example: dict[str, Any]) -> Context:
    config = load_config(read_document(materialize(example, folder)))
    return deployment_context(config, config.deployments[0], Checkpoints())


@pytest.mark.parametrize("version", known_versions("sglang"))
def test_a_wrapped_target_captures_nothing_in_any_version(version: str, tmp_path: Path) -> None:
    found = context(tmp_path, asks(version, "transformers")).boundaries
    assert found is not None
    assert (found.outcome, found.captured) == ("crash_at_start", ())
    assert "TransformersForCausalLM" in found.reason


@pytest.mark.parametrize("version", ["0.5.4.post1", "0.5.9", "0.5.23"])
def test_the_rule_names_the_setting_and_no_other_fault(version: str, tmp_path: Path) -> None:
    found = errors(check(tmp_path, **asks(version, "transformers")))
    assert set(found) == {"EC508"}
    assert "model_impl: transformers" in found["EC508"]


@pytest.mark.parametrize("implementation", ["auto", "sglang", "Transformers"])
def test_other_spellings_run_the_class_of_the_engine(implementation: str, tmp_path: Path) -> None:
    assert errors(check(tmp_path, **asks("0.5.14", implementation))) == {}


def test_mindspore_is_known_from_0_5_6_on_and_its_code_is_elsewhere(tmp_path: Path) -> None:
    assert errors(check(tmp_path / "a", **asks("0.5.5.post3", "mindspore"))) == {}
    assert "MindSpore class" in errors(check(tmp_path / "b", **asks("0.5.9", "mindspore")))["EC508"]
    report = check(tmp_path / "c", **asks("0.5.14", "mindspore"))
    assert errors(report) == {}
    assert any(
        skip.rule.id == "EC508" and "not part of sglang 0.5.14" in skip.reason for skip in report.not_checked
    )


def test_leaving_it_out_is_no_advice_where_the_own_class_captures_nothing_either(tmp_path: Path) -> None:
    report = check(tmp_path, **asks("0.5.14", "transformers", target="Step3p5ForCausalLM"))
    (one,) = [found.finding for found in report.findings if found.rule.id == "EC508"]
    assert one.fix is None
    assert "set speculative: off" in one.help
    assert "leave out" not in one.help


def test_without_speculation_any_class_may_run(tmp_path: Path) -> None:
    example = asks("0.5.14", "transformers")
    example["deployment"] = {**example["deployment"], "draft": None, "capture": None, "speculative": "off"}
    assert errors(check(tmp_path, **example)) == {}


def test_the_traced_path_shows_no_capture_and_no_line_of_the_own_class(tmp_path: Path) -> None:
    text = plain(render(context(tmp_path, asks("0.5.14", "transformers")), 200))
    assert "capture: none" in text
    assert "TransformersForCausalLM has no EAGLE-3 capture" in text
    assert "capture at boundary" not in text
    assert "srt/models/llama.py" not in text
