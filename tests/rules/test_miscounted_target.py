"""A target whose config counts other layers than its files hold: cause before consequence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eaglecfg.rules.model import Severity
from tests.rules.pairs import check, serious


def deeper(count: int, held: int = 12) -> dict[str, Any]:
    """A target of ``held`` layers whose config counts ``count``."""
    more = {f"model.layers.{index}.input_layernorm.weight": ["BF16", [256]] for index in range(count, held)}
    return {"config": {"num_hidden_layers": count}, "tensors": more}


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("count", [7, 8, 9])
def test_the_count_is_shown_and_not_the_ids_that_do_not_fit_it(
    count: int, declared: bool, tmp_path: Path
) -> None:
    own = {} if declared else {"deployment": {"capture": None}}
    report = check(tmp_path, target=deeper(count), **own)
    found = serious(report)
    assert set(found) == {"EC816"}
    assert "boundary 9" in found["EC816"].why
    assert [each.severity for each in report.findings if each.rule.id == "EC816"] == [Severity.ERROR]


def test_a_count_that_does_no_harm_to_the_draft_stays_a_warning(tmp_path: Path) -> None:
    report = check(tmp_path, target=deeper(11))
    assert set(serious(report)) == {"EC816"}
    assert [each.severity for each in report.findings if each.rule.id == "EC816"] == [Severity.WARNING]


@pytest.mark.parametrize("held", [12, 20])
def test_ids_beyond_the_files_too_are_the_drafts_fault(held: int, tmp_path: Path) -> None:
    ids = {"eagle_config": {"eagle_aux_hidden_state_layer_ids": [2, 5, 28]}}
    found = serious(
        check(tmp_path, deployment={"capture": None}, target=deeper(8, held), draft={"config": ids})
    )
    assert set(found) == {"EC208"}


def test_announced_layers_explain_nothing(tmp_path: Path) -> None:
    target = deeper(8, 9)
    target["config"]["num_nextn_predict_layers"] = 1
    found = serious(check(tmp_path, target=target))
    assert "EC816" not in found
    assert {"EC208", "EC220"} & set(found)


@pytest.mark.parametrize(("trained", "word"), [([-1, 6, 9], "below 0"), ([3, 3, 9], "twice")])
def test_other_faults_of_the_declared_boundaries_are_not_hidden(
    trained: list[int], word: str, tmp_path: Path
) -> None:
    deployment = {"capture": {"trained_boundaries": trained}}
    found = serious(check(tmp_path, target=deeper(8), deployment=deployment))
    assert word in found["EC220"].message
