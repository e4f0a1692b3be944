"""Files that flags name and that are not here are counted as not checked, never as wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from eaglecfg.rules.examples import materialize
from eaglecfg.rules.runner import validate
from eaglecfg.source.read import read_document


@pytest.mark.parametrize(
    ("flag", "value", "says"),
    [
        ("chat_template", "./absent.jinja", "is not beside eaglecfg.yaml"),
        ("chat_template", "/absent/chat.jinja", "is not on this machine"),
        ("tokenizer_path", "../absent", "is not beside eaglecfg.yaml"),
    ],
)
def test_a_file_that_is_not_here_is_not_checked(flag: str, value: str, says: str, tmp_path: Path) -> None:
    path = materialize({"deployment": {"server": {flag: value}}}, tmp_path)
    report = validate([read_document(path, shown=path.name)], select=["EC339"])
    assert [says in skipped.reason for skipped in report.not_checked] == [True]
    assert report.findings == ()
    assert report.exit_code() == 0


def test_a_hub_id_is_no_path(tmp_path: Path) -> None:
    path = materialize({"deployment": {"server": {"tokenizer_path": "lab/model"}}}, tmp_path)
    report = validate([read_document(path, shown=path.name)], select=["EC339"])
    assert report.not_checked == ()
    assert report.findings == ()
