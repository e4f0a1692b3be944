"""Launches of the stand-in, with limits short enough for tests."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eaglecfg.tune.launch import run_launch
from eaglecfg.tune.trial import LaunchResult, Limits, MeasurePlan, Prompt, ServerCommand

STANDIN = (sys.executable, "-m", "eaglecfg.tune.standin")
EAGLE = ("--speculative-algorithm", "EAGLE3", "--speculative-num-steps", "2")
PROMPTS = tuple(Prompt(str(number), tuple(range(number + 1, number + 20))) for number in range(8))
PLAN = MeasurePlan((2,), 2, 6, 32, warmup_requests=2, greedy_check=2, greedy_tokens=8)
LIMITS = Limits(startup_s=20, hang_floor_s=1.0, hang_steps=20, stop_s=8, term_s=0.5, client_lag_ms=1000)


@dataclass
class Launcher:
    """Runs launches and remembers what they told."""

    folder: Path
    events: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    def __call__(
        self,
        *flags: str,
        plan: MeasurePlan = PLAN,
        limits: Limits = LIMITS,
        command: ServerCommand | None = None,
        prompts: Sequence[Prompt] = PROMPTS,
        hear: Callable[[str, Mapping[str, Any]], None] = lambda event, about: None,
        env: Mapping[str, str] | None = None,
    ) -> LaunchResult:
        self.events = []

        def progress(event: str, about: Mapping[str, Any]) -> None:
            self.events.append((event, about))
            hear(event, about)

        marker = f"test-{uuid.uuid4().hex}"
        return run_launch(
            command or ServerCommand((*STANDIN, *EAGLE, "--virtual-clock", *flags), env or {}),
            plan,
            prompts,
            self.folder / marker,
            limits,
            marker=marker,
            progress=progress,
        )

    def heard(self, event: str) -> list[Mapping[str, Any]]:
        """What was told under this name in the last launch."""
        return [about for name, about in self.events if name == event]
