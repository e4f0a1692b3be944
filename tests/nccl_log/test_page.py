"""The examples of docs/nccl-log.md are what the command prints of real logs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from eaglecfg.cli.main import run
from eaglecfg.nccl.log.facts import log_facts
from eaglecfg.report.nccl_log import wanted
from tests.nccl_log.test_real import LOGS

PAGE = Path(__file__).parents[2] / "docs" / "nccl-log.md"
CONFIG = """\
version: 1
engine: {name: sglang, version: 0.5.14}
deployments:
  chat:
    target: {checkpoint: t}
    parallel: {tp_size: 2}
    nccl: {p2p_disable: 1, buffsize: 4M, nvls_enable: "true", p2p_level: sys, no_such: 1}
    hardware: {gpu: H200, count: 2, topology: nvlink-pair}
"""
EXAMPLES = (
    ("misread.log --config eaglecfg.yaml", 1),
    ("simple.log --against default.log", 0),
)


def test_the_examples_are_what_the_command_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    (tmp_path / "eaglecfg.yaml").write_text(CONFIG, encoding="utf-8")
    for log in LOGS.glob("*.log"):
        shutil.copy(log, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    for arguments, code in EXAMPLES:
        assert run(["nccl-log", *arguments.split()]) == code
        assert f"$ eaglecfg nccl-log {arguments}\n{capsys.readouterr().out}```\n" in text


def test_the_page_names_the_variables_and_the_libraries() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert wanted() in text
    for version in log_facts()["libraries"]:
        assert version in text
