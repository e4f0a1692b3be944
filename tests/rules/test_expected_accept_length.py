"""The accept length that a deployment expects, against what its draft can offer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eaglecfg.record import replace
from eaglecfg.rules.examples import materialize
from eaglecfg.rules.model import Finding, Severity
from eaglecfg.rules.runner import check_deployment
from eaglecfg.schema.deployment import Speculative
from eaglecfg.schema.load import load_config
from eaglecfg.source.read import read_document
from tests.rules.pairs import check

KEY = "expected_accept_length"


def told(folder: Path, expected: Any, **deployment: Any) -> Finding | None:
    """What EC108 says, with no word of another rule about the key."""
    report = check(folder, deployment={KEY: expected, **deployment})
    assert not report.crashes, report.crashes[0].trace
    about = [each for each in report.findings if KEY in each.finding.message]
    assert len(about) <= 1
    if not about or about[0].rule.id != "EC108":
        return None
    assert about[0].severity is Severity.ERROR
    return about[0].finding


@pytest.mark.parametrize("expected", [1, 1.0, 2.46, 3.999, 4])
def test_what_can_be_measured_passes(tmp_path: Path, expected: float) -> None:
    assert told(tmp_path, expected) is None


@pytest.mark.parametrize("expected", [4.01, 9.9, 1e9, float("inf")])
def test_more_than_the_steps_and_one_cannot(tmp_path: Path, expected: float) -> None:
    finding = told(tmp_path, expected)
    assert finding is not None
    assert "at most 4 (num_steps 3 + 1)" in finding.message
    assert finding.path == ("deployments", "chat", KEY)


@pytest.mark.parametrize("expected", [0.01, 0.5, 0.999])
def test_less_than_one_cannot(tmp_path: Path, expected: float) -> None:
    finding = told(tmp_path, expected)
    assert finding is not None
    assert "at least 1" in finding.message


def shape(steps: int, topk: int, tokens: int, **more: Any) -> dict[str, Any]:
    return {"num_steps": steps, "eagle_topk": topk, "num_draft_tokens": tokens, **more}


@pytest.mark.parametrize(
    ("wanted", "asked"),
    [
        (4, shape(3, 1, 4)),
        (4, shape(3, 1, 9)),  # rewritten to steps + 1
        (4, shape(3, 4, 8)),
        (6, shape(5, 4, 16)),
        (3, shape(5, 4, 3)),  # no branch of 5 fits
    ],
)
def test_a_branch_is_as_deep_as_the_steps_and_fits_into_the_tokens(
    tmp_path: Path, wanted: int, asked: dict[str, Any]
) -> None:
    assert told(tmp_path / "at", wanted, speculative=asked) is None
    finding = told(tmp_path / "above", wanted + 0.5, speculative=asked)
    assert finding is not None
    assert f"at most {wanted} " in finding.message


def test_the_shape_that_the_engine_picks_counts(tmp_path: Path) -> None:
    open_ = {"num_steps": None, "eagle_topk": None, "num_draft_tokens": None}
    finding = told(tmp_path, 50, speculative=open_)
    assert finding is not None
    assert "at most" in finding.message


@pytest.mark.parametrize("deployment", [{"server": {"speculative_adaptive": True}}])
def test_steps_that_change_have_no_upper_bound(tmp_path: Path, deployment: dict[str, Any]) -> None:
    assert told(tmp_path / "a", 9.9, **deployment) is None
    assert told(tmp_path / "b", float("inf"), **deployment) is not None
    assert told(tmp_path / "c", 0.5, **deployment) is not None


@pytest.mark.parametrize("algorithm", ["NGRAM", "DFLASH"])
def test_other_algorithms_have_bounds_of_their_own(tmp_path: Path, algorithm: str) -> None:
    assert told(tmp_path, 9.9, speculative={"algorithm": algorithm}) is None


@pytest.mark.parametrize("expected", [0, -1, float("nan"), True, "3"])
def test_what_is_no_length_at_all_is_told_once(tmp_path: Path, expected: object) -> None:
    report = check(tmp_path, deployment={KEY: expected})
    assert [each.rule.id for each in report.findings if KEY in each.finding.message] == ["EC102"]


def test_it_is_found_where_the_defaults_give_it(tmp_path: Path) -> None:
    report = check(tmp_path, config={"defaults": {KEY: 9.9}})
    found = [each.finding for each in report.findings if each.rule.id == "EC108"]
    assert [each.path for each in found] == [("defaults", KEY)]


def test_a_setting_that_is_tried_is_not_measured_by_what_the_file_expects(tmp_path: Path) -> None:
    path = materialize({"deployment": {KEY: 3.5}}, tmp_path)
    config = load_config(read_document(path))
    (deployment,) = config.deployments
    assert isinstance(deployment.model.speculative, Speculative)
    shorter = deployment.model.speculative.model_copy(update={"num_steps": 1, "num_draft_tokens": 2})
    tried = replace(deployment, model=deployment.model.model_copy(update={"speculative": shorter}))
    assert {each.severity for each in check_deployment(config, tried).findings} <= {Severity.INFO}
