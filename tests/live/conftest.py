"""A config to compare servers with."""

from __future__ import annotations

from pathlib import Path

import pytest

from eaglecfg.rules.examples import materialize


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small consistent pair on SGLang 0.5.14; the current folder of the test."""
    path = materialize({"title": "live", "engine": "0.5.14"}, tmp_path)
    monkeypatch.chdir(tmp_path)
    return path
