"""Requests side by side, all done or given up at one moment."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from eaglecfg.checkpoint.limits import FETCH_THREADS

Item = TypeVar("Item")
Out = TypeVar("Out")


def side_by_side(work: Callable[[Item], Out], items: Sequence[Item], seconds: float) -> list[Out]:
    """``work`` of every item, in order. Raises what the first failing one raises, or TimeoutError.

    A peer that sends a byte now and then keeps a socket's own timeout from ever ending; so the threads are
    daemons, which nobody waits for longer than ``seconds``.
    """
    end = time.monotonic() + seconds
    results: dict[int, Out] = {}
    failed: list[Exception] = []
    lock, left = threading.Lock(), list(enumerate(items))[::-1]

    def run() -> None:
        while not failed:
            with lock:
                if not left:
                    return
                at, item = left.pop()
            try:
                results[at] = work(item)
            except Exception as error:
                failed.append(error)

    threads = [
        threading.Thread(target=run, daemon=True, name="fetch") for _ in range(min(FETCH_THREADS, len(items)))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    if failed:
        raise failed[0]
    if any(thread.is_alive() for thread in threads):
        raise TimeoutError
    return [results[at] for at in range(len(items))]
