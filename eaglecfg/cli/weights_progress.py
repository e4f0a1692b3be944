"""What ``validate --weights`` says on stderr while it reads, where that takes long."""

from __future__ import annotations

import time
from collections.abc import Callable

from eaglecfg.cli.output import tell

QUIET_S, EVERY_S = 2.0, 5.0
"""Seconds before the first line and between two: most drafts are read before anything is said."""


def progress(draft: str, clock: Callable[[], float] = time.monotonic) -> Callable[[int, int], None]:
    """What is told the bytes read of the weights of ``draft``, and the bytes of all."""
    due = clock() + QUIET_S

    def told(done: int, total: int) -> None:
        nonlocal due
        if done < total and clock() >= due:
            due = clock() + EVERY_S
            tell(f"reading the weights of {draft}: {done / 1e9:.1f} of {total / 1e9:.1f} GB")

    return told
