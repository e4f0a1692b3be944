"""A number of ranks that the schema refused must not pass for the default."""

from __future__ import annotations

from pathlib import Path

from eaglecfg.rules.examples import materialize
from eaglecfg.rules.runner import validate
from eaglecfg.source.read import read_document


def test_rules_about_ranks_do_not_pass_on_a_refused_tp_size(tmp_path: Path) -> None:
    path = materialize({"deployment": {"parallel": {"tp_size": "eight"}}}, tmp_path)
    report = validate([read_document(path)])
    undecided = {skipped.rule.id for skipped in report.not_checked}
    assert {"EC401", "EC402", "EC403", "EC404", "EC405", "EC406", "EC408"} <= undecided
