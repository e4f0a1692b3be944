"""Ctrl-C and its like, let through only where nothing can be half done."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

CAUGHT = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Turns the first SIGINT or SIGTERM into one interrupt; later ones change nothing, so that nobody who
    presses Ctrl-C twice leaves a server behind. A hang-up (the terminal is closed, the user logs out) is no
    interrupt: a study is there to go on through the night.

    Where an event loop runs, its tasks are cancelled; elsewhere KeyboardInterrupt is raised. While held, the
    interrupt waits: a ledger line is written whole, a server is stopped to the end. Signals are caught in the
    main thread only; elsewhere this does nothing.
    """

    def __init__(self, heard: Callable[[str], None]) -> None:
        """``heard`` is told the first signal's name, and may print."""
        self.heard = heard
        self.name = ""
        self._raised = False
        self._held = 0
        self._old: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in CAUGHT:
                self._old[number] = signal.signal(number, self._catch)
            # A handler that does nothing, not SIG_IGN, which the server would inherit.
            self._old[signal.SIGHUP] = signal.signal(signal.SIGHUP, lambda *_: None)
        return self

    def __exit__(self, *_: object) -> None:
        for number, old in self._old.items():
            signal.signal(number, old)

    def _catch(self, number: int, frame: FrameType | None) -> None:
        if not self.name:
            self.name = signal.Signals(number).name
            self.heard(self.name)
            self._raise()

    def _raise(self) -> None:
        if not self.name or self._held or self._raised:
            return
        self._raised = True
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise KeyboardInterrupt(self.name) from None
        # An exception out of the middle of a loop would leave its tasks behind unfinished.
        for task in asyncio.all_tasks(loop):
            loop.call_soon_threadsafe(task.cancel)

    def begin_hold(self) -> None:
        """Keep interrupts back until ``end_hold``; may be nested."""
        self._held += 1

    def end_hold(self) -> None:
        """Let an interrupt through that came meanwhile."""
        self._held -= 1
        self._raise()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep interrupts back until the end of the block."""
        self.begin_hold()
        try:
            yield
        except BaseException:
            self._held -= 1
            raise
        self.end_hold()
