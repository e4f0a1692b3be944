"""What the rules about files say, and when they keep quiet, beyond their documented examples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.rules.context import Checkpoints
from eaglecfg.rules.examples import materialize
from eaglecfg.rules.model import Severity, Today
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.runner import validate
from eaglecfg.source.read import parse_document, read_document

SHARDED: dict[str, Any] = {"draft": {"shards": 4}}


def check(folder: Path, **example: Any) -> Report:
    """The EC8xx rules over the base pair, changed by ``example``."""
    return validate([read_document(materialize(example, folder))], select=["EC8"])


def said(report: Report, *, info: bool = False) -> list[str]:
    """Ids of the rules with findings, in order."""
    return [f.rule.id for f in report.findings if info or f.severity is not Severity.INFO]


def unread(report: Report) -> list[str]:
    return [f"{skip.reason}; {skip.help}" for skip in report.not_checked if skip.incomplete]


def test_base_pair_is_clean(tmp_path: Path) -> None:
    report = check(tmp_path)
    assert said(report, info=True) == []
    assert report.exit_code() == 0


@pytest.mark.parametrize("spelled", ["nowhere", "/nowhere/model", "org/model", "s3://bucket/model"])
@pytest.mark.parametrize("side", ["target", "draft"])
def test_what_is_not_here_leaves_the_run_incomplete(side: str, spelled: str, tmp_path: Path) -> None:
    report = check(tmp_path, deployment={side: {"checkpoint": spelled}})
    assert said(report) == []
    assert [reason.startswith(f"{side}.checkpoint: ") for reason in unread(report)] == [True]
    assert spelled in unread(report)[0]
    assert report.exit_code() == 3


def test_both_checkpoints_absent(tmp_path: Path) -> None:
    report = check(tmp_path, deployment={"target": {"checkpoint": "x"}, "draft": {"checkpoint": "y"}})
    assert len(unread(report)) == 2


def test_draft_that_is_not_launched_is_left_alone(tmp_path: Path) -> None:
    report = check(tmp_path, deployment={"speculative": "off"}, remove=["draft/model.safetensors"])
    assert said(report) == []
    assert report.exit_code() == 0


def test_several_missing_files_are_one_finding(tmp_path: Path) -> None:
    gone = [f"draft/model-0000{number}-of-00004.safetensors" for number in (1, 2, 4)]
    report = check(tmp_path, **SHARDED, remove=gone)
    assert said(report) == ["EC803"]
    finding = report.findings[0].finding
    assert "(and 2 more such files)" in finding.message
    assert [evidence.file for evidence in finding.evidence] == [str(tmp_path / name) for name in gone]
    assert report.documents[0].lines[report.findings[0].span.start.line - 1].strip().startswith("draft:")


@pytest.mark.parametrize(("version", "today"), [("0.5.14", Today.SILENT), ("0.5.23", None)])
def test_missing_file_is_silent_in_older_engines(version: str, today: Today | None, tmp_path: Path) -> None:
    report = check(tmp_path, engine=version, **SHARDED, remove=["draft/model-00002-of-00004.safetensors"])
    assert report.findings[0].finding.today is today


@pytest.mark.parametrize(
    ("server", "found"),
    [
        ({}, ["EC803", "EC803"]),
        ({"load_format": "dummy"}, []),
        ({"load_format": "auto"}, ["EC803", "EC803"]),
        ({"speculative_draft_load_format": "dummy"}, ["EC803"]),
        ({"load_format": "dummy", "speculative_draft_load_format": "auto"}, ["EC803"]),
    ],
)
def test_weights_of_a_dummy_load_need_not_be_there(
    server: dict[str, str], found: list[str], tmp_path: Path
) -> None:
    gone = ["draft/model.safetensors", "target/model.safetensors"]
    assert said(check(tmp_path, deployment={"server": server}, remove=gone)) == found


def test_broken_folder_is_an_error_and_incomplete(tmp_path: Path) -> None:
    report = check(tmp_path, truncate={"draft/model.safetensors": 5})
    assert said(report) == ["EC804"]
    assert report.findings[0].finding.incomplete
    assert report.exit_code() == 1


def test_permission_is_not_a_fault_of_the_files(tmp_path: Path) -> None:
    """A link that leads to itself fails like a file without permission, also for root."""
    path = materialize({"remove": ["draft/config.json"]}, tmp_path)
    (tmp_path / "draft" / "config.json").symlink_to("config.json")
    report = validate([read_document(path)], select=["EC8"])
    assert said(report) == []
    assert "leads back to itself" in unread(report)[0]


def test_pickle_that_cannot_be_read_is_not_checked(tmp_path: Path) -> None:
    files = {"draft/pytorch_model.bin": "an old pickle"}
    report = check(tmp_path, remove=["draft/model.safetensors"], files=files)
    assert said(report, info=True) == ["EC809"]
    assert "convert it to safetensors" in unread(report)[0]
    assert report.exit_code() == 3


def test_unknown_dtype_is_not_checked_and_complete(tmp_path: Path) -> None:
    header = '{"w":{"dtype":"F2","shape":[8],"data_offsets":[0,2]}}'
    content = chr(len(header)) + "\0" * 7 + header + "\0\0"
    report = check(tmp_path, files={"target/model.safetensors": content})
    assert said(report) == []
    reasons = [skip.reason for skip in report.not_checked]
    assert any("F2" in reason for reason in reasons)
    assert unread(report) == []


@pytest.mark.parametrize(
    ("revision", "found"),
    [(None, ["EC811"]), ("main", ["EC811"]), ("0123456", ["EC811"]), ("0123456789" * 4, [])],
)
def test_only_a_whole_commit_is_fixed(revision: str | None, found: list[str], tmp_path: Path) -> None:
    draft = {"checkpoint": "org/model"} | ({"revision": revision} if revision else {})
    assert said(check(tmp_path, deployment={"draft": draft}), info=True) == found


@pytest.mark.parametrize(
    ("trust", "shipped", "severity"),
    [
        (True, True, Severity.INFO),
        (True, False, Severity.WARNING),
        (False, True, Severity.INFO),
        (False, False, Severity.INFO),
    ],
)
def test_code_of_a_checkpoint(trust: bool, shipped: bool, severity: Severity, tmp_path: Path) -> None:
    report = check(
        tmp_path,
        deployment={"server": {"trust_remote_code": trust}},
        target={"config": {"auto_map": {"AutoConfig": "configuration_x.X"}}},
        files={"target/configuration_x.py": ""} if shipped else {},
    )
    assert [(f.rule.id, f.severity) for f in report.findings] == [("EC810", severity)]


def test_config_with_a_key_twice(tmp_path: Path) -> None:
    path = materialize({}, tmp_path)
    config = tmp_path / "draft" / "config.json"
    config.write_text(config.read_text().replace("{", '{"hidden_size": 64, "vocab_size": 1024,', 1))
    report = validate([read_document(path)], select=["EC8"])
    assert [(f.rule.id, f.severity) for f in report.findings] == [
        ("EC802", Severity.ERROR),
        ("EC802", Severity.WARNING),
    ]
    assert "hidden_size twice (64 and 256)" in report.findings[0].finding.message


def test_files_that_name_one_checkpoint_share_what_is_read_of_it(tmp_path: Path) -> None:
    first, second = materialize({}, tmp_path), tmp_path / "second.yaml"
    second.write_text(first.read_text())
    seen = Checkpoints()
    report = validate([read_document(path) for path in (first, second)], checkpoints=seen)
    assert len(report.deployments) == 2
    assert [facts.shown for facts in seen.read] == [str(tmp_path / "target"), str(tmp_path / "draft")]


@pytest.mark.parametrize("spelled", ["a\0b", "a/\udcff", "x" * 5000, "\0/b"])
def test_names_that_no_file_can_have(spelled: str, tmp_path: Path) -> None:
    document = parse_document(
        f"version: 1\ndeployments: {{a: {{target: {{checkpoint: {json.dumps(spelled)}}}}}}}\n",
        "eaglecfg.yaml",
        str(tmp_path),
    )
    report = validate([document])
    assert report.crashes == ()
    assert report.exit_code() in (1, 2, 3)  # refused by YAML or the schema, or not there
