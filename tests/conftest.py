"""What every test starts from."""

from __future__ import annotations

import signal

import pytest
from hypothesis import settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a job that a script put into the background
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run: what a change breaks is seen by that change. benchmarks.fuzz looks for more.
settings.register_profile("suite", derandomize=True, deadline=None)
settings.load_profile("suite")


@pytest.fixture(autouse=True)
def _no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Widths and colours as in a pipe: some test runners tell their own terminal's."""
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
