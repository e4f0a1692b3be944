"""A launcher of stand-ins for the tests that need one."""

from __future__ import annotations

from pathlib import Path

import pytest
from launcher import Launcher


@pytest.fixture
def launch(tmp_path: Path) -> Launcher:
    """A launcher whose folders lie in tmp_path."""
    return Launcher(tmp_path)
