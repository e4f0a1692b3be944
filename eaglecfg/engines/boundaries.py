"""Which boundaries an engine version really captures. The core function of the project."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Boundaries:
    """The answer for one target class, depth, id list and engine version.

    ``ids``: as given, None when the engine falls back to its default. ``shifted``: what the class makes of them, in
    listed order. ``captured``: the distinct boundaries that reach the draft, ascending, as the layers run.
    ``offset``: added to every id, None for the default. ``rule``: that step in words. ``outcome``: ``captured``, or what goes wrong:
    ``short`` (fewer states than ids, crash at the first request), ``crash_at_start``, ``crash_at_first_request``,
    ``wrapped`` (a negative index marks another layer, silent), ``nothing`` (no capture). ``reason`` says why in one
    sentence. ``decode``: captured by CUDA graphs where that differs from eager prefill, else None.
    ``source``: ``file:line`` in the wheel ``read_in``.
    """

    ids: tuple[int, ...] | None
    shifted: tuple[int, ...]
    captured: tuple[int, ...]
    offset: int | None
    rule: str
    outcome: Literal["captured", "short", "crash_at_start", "crash_at_first_request", "wrapped", "nothing"]
    reason: str
    decode: tuple[int, ...] | None
    residual: bool
    source: str
    read_in: str
