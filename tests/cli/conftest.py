"""The command line, run as a user would."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from eaglecfg.cli.main import run
from eaglecfg.rules.examples import materialize

RunLine = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run_line(capsys: pytest.CaptureFixture[str]) -> RunLine:
    """Run one command line in this process: exit code, stdout, stderr."""

    def _run(*arguments: str) -> tuple[int, str, str]:
        code = run([*arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return _run


@pytest.fixture
def good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a small pair and a good eaglecfg.yaml; the current folder of the test."""
    materialize({"title": "good"}, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def shifted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, but trained on other boundaries than the engine captures."""
    materialize({"title": "shifted", "deployment": {"capture": {"trained_boundaries": [2, 5, 8]}}}, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path
