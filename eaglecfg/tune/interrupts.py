"""Ctrl-C and its like, let through only where nothing can be half written."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Turns the first SIGINT, SIGTERM or SIGHUP into one KeyboardInterrupt; later ones change nothing.

    Inside ``hold()`` the interrupt is kept back, so that a ledger line is written whole or not at all.
    Signals are caught in the main thread only; elsewhere this does nothing.
    """

    def __init__(self, heard: Callable[[str], None]) -> None:
        """``heard`` is told each signal's name, and may print."""
        self.heard = heard
        self.name = ""
        self._raised = False
        self._held = 0
        self._old: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in CAUGHT:
                self._old[number] = signal.signal(number, self._catch)
        return self

    def __exit__(self, *_: object) -> None:
        for number, old in self._old.items():
            signal.signal(number, old)

    def _catch(self, number: int, frame: FrameType | None) -> None:
        name = signal.Signals(number).name
        self.name = self.name or name
        self.heard(name)
        self._raise()

    def _raise(self) -> None:
        if self.name and not self._held and not self._raised:
            self._raised = True
            raise KeyboardInterrupt(self.name)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep an interrupt back until the end of the block."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
        self._raise()
