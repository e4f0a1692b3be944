"""The example of docs/nccl-log.md is what the command prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from eaglecfg.cli.main import run
from eaglecfg.nccl.log.facts import log_facts
from eaglecfg.report.nccl_log import wanted
from tests.nccl_log.conftest import written

PAGE = Path(__file__).parents[2] / "docs" / "nccl-log.md"
CONFIG = """\
version: 1
engine: {name: sglang, version: 0.5.14}
deployments:
  chat:
    target: {checkpoint: t}
    parallel: {tp_size: 2}
    nccl: {proto: LL, nthreads: 128, buffsize: 4M, p2p_level: sys, cumem_enable: 1}
    hardware: {gpu: H200, count: 2, topology: nvlink-pair}
"""
SET = {"NCCL_PROTO": "LL", "NCCL_NTHREADS": "128", "NCCL_BUFFSIZE": "4M", "NCCL_CUMEM_ENABLE": "0"}
START, END = "<!-- example -->\n```text\n", "```\n<!-- end -->"


def example(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """The command and what it prints."""
    (folder / "eaglecfg.yaml").write_text(CONFIG, encoding="utf-8")
    (folder / "server.log").write_text("\n".join(written(**SET)) + "\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "110")
    assert run(["nccl-log", "server.log", "--config", "eaglecfg.yaml"]) == 1
    return "$ eaglecfg nccl-log server.log --config eaglecfg.yaml\n" + capsys.readouterr().out


def test_the_example_is_what_the_command_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    _, _, rest = text.partition(START)
    shown, _, _ = rest.partition(END)
    assert shown == example(tmp_path, capsys, monkeypatch)


def test_the_page_names_the_variables_and_the_libraries() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert wanted() in text
    for version in log_facts()["libraries"]:
        assert version in text
