"""A fault of our own stays where it is, and one rule cannot fill the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from eaglecfg.report.concise import render as concise
from eaglecfg.report.machine import to_json
from eaglecfg.report.shown import Shown
from eaglecfg.report.styled import plain
from eaglecfg.report.text import render as text
from eaglecfg.rules.context import Checkpoints
from eaglecfg.rules.examples import materialize
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.runner import MOST_FINDINGS, validate
from eaglecfg.source.read import read_document


class Broken(dict[Any, Any]):
    """Read checkpoints whose look-up fails for drafts, as a fault of our own would."""

    def __contains__(self, key: object) -> bool:
        if isinstance(key, tuple) and key[-1] == "draft":
            raise RuntimeError("a fault of our own")
        return super().__contains__(key)


def report_of(folder: Path, example: dict[str, Any], checkpoints: Checkpoints | None = None) -> Report:
    path = materialize(example, folder)
    return validate([read_document(path, shown=path.name)], checkpoints=checkpoints)


def test_a_context_that_fails_is_an_internal_error_beside_the_other_findings(tmp_path: Path) -> None:
    alone = {"target": {"checkpoint": "target"}, "parallel": {"tp_size": 3}}
    example = {"config": {"deployments": {"alone": alone}, "nonsense": 1}}
    report = report_of(tmp_path, example, Checkpoints(known=Broken()))
    assert [(crash.rule, crash.deployment) for crash in report.crashes] == [(None, "chat")]
    assert report.exit_code() == 4
    assert {found.deployment for found in report.findings} >= {None, "alone"}
    assert "internal error[facts]" in plain(text(report, Shown(), version="0", width=100))
    assert "internal-error[facts]" in plain(concise(report))
    assert json.loads(to_json(report, Severity.ERROR, version="0"))["crashes"][0]["rule"] is None


def test_one_rule_says_its_piece_a_hundred_times_at_most(tmp_path: Path) -> None:
    server = {f"no_such_flag_{index}": 1 for index in range(2 * MOST_FINDINGS)}
    report = report_of(tmp_path, {"deployment": {"server": server}})
    unknown = [found for found in report.findings if found.rule.id == "EC301"]
    assert len(unknown) == MOST_FINDINGS
    assert report.more == {"EC301": MOST_FINDINGS}


def test_every_deployment_has_its_say_after_the_hundred(tmp_path: Path) -> None:
    server = {f"no_such_flag_{index}": 1 for index in range(2 * MOST_FINDINGS)}
    last = {"target": {"checkpoint": "target"}, "server": {"nor_this_one": 1, "nor_that_one": 2}}
    example = {"deployment": {"server": server}, "config": {"deployments": {"last": last}}}
    report = report_of(tmp_path, example)
    said = [found for found in report.findings if found.rule.id == "EC301" and found.deployment == "last"]
    assert len(said) == 1
    assert report.more == {"EC301": MOST_FINDINGS + 1}
    for page in (plain(text(report, Shown(), version="0", width=100)), plain(concise(report))):
        assert f"{MOST_FINDINGS + 1} more of EC301" in page
    assert json.loads(to_json(report, Severity.ERROR, version="0"))["more"] == report.more


def test_problems_of_the_schema_beyond_the_hundred_are_counted(tmp_path: Path) -> None:
    odd = {f"odd_{index}": 1 for index in range(137)}
    report = report_of(tmp_path, {"deployment": {"parallel": odd}})
    assert sum(found.rule.id == "EC101" for found in report.findings) == MOST_FINDINGS
    assert report.more == {"EC101": 37}


def test_the_ends_of_checks_add_up_to_the_checks(tmp_path: Path) -> None:
    alone = {"target": {"checkpoint": "nowhere"}, "parallel": {"tp_size": 3}}
    config = {"deployments": {"alone": alone}, "nonsense": 1}
    report = report_of(tmp_path, {"config": config, "draft": {"config": {"target_hidden_size": 640}}})
    assert report.dropped
    ends = (report.passed, report.failed, report.undecided, report.not_applicable, report.left_out)
    assert sum(ends) == report.checks


def test_what_rests_on_a_key_given_twice_follows_from_that(tmp_path: Path) -> None:
    path = materialize({}, tmp_path)
    config = tmp_path / "draft" / "config.json"
    text = config.read_text().replace('"hidden_size": 256', '"hidden_size": 256, "hidden_size": 128')
    config.write_text(text)
    report = validate([read_document(path, shown=path.name)])
    assert {found.rule.id for found in report.findings if found.severity is Severity.ERROR} == {"EC802"}
    assert "EC802" in {each.because for each in report.dropped}


def test_a_missing_shard_leaves_missing_tensors_open(tmp_path: Path) -> None:
    path = materialize({"draft": {"shards": 3}}, tmp_path)
    for shard in list((tmp_path / "draft").glob("*.safetensors"))[:2]:
        shard.unlink()
    report = validate([read_document(path, shown=path.name)])
    assert {found.rule.id for found in report.findings if found.severity is Severity.ERROR} == {"EC803"}


def test_a_broken_training_record_says_nothing_about_the_weights(tmp_path: Path) -> None:
    path = materialize({"files": {"draft/eaglecfg-training.json": "{"}}, tmp_path)
    report = validate([read_document(path, shown=path.name)])
    assert {found.rule.id for found in report.findings if found.severity is Severity.ERROR} == {"EC107"}
    assert "EC223" not in {skipped.rule.id for skipped in report.not_checked}
    assert report.exit_code() == 1


def test_an_engine_version_that_is_no_number_leaves_the_engine_unchecked(tmp_path: Path) -> None:
    path = materialize({"engine": "latest"}, tmp_path)
    report = validate([read_document(path, shown=path.name)])
    assert [found.rule.id for found in report.findings if found.severity is Severity.ERROR] == ["EC509"]
    assert "EC201" in {skipped.rule.id for skipped in report.not_checked}
    alone = validate([read_document(path, shown=path.name)], ignore=["EC509"])
    assert alone.findings == ()
