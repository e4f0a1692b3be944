"""Studies without servers: the real schedule and the real statistics on numbers drawn from a known truth."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eaglecfg.schema.deployment import Deployment
from eaglecfg.schema.study import StudyFile
from eaglecfg.source.document import Document
from eaglecfg.tune.arm import Arm
from eaglecfg.tune.design import Design, make_design
from eaglecfg.tune.drift import find_move
from eaglecfg.tune.futility import pointless, reference_for
from eaglecfg.tune.history import History, fold
from eaglecfg.tune.judge import described
from eaglecfg.tune.ledger import Event
from eaglecfg.tune.schedule import Finished, Rejected, Wanted, next_step
from eaglecfg.tune.space import read_space
from eaglecfg.tune.statistics import mean

Truth = Callable[[Arm], float]
"""The log of an arm's true speed."""

Fault = Callable[[Arm, int], str]
"""The failure class of a launch by its number; empty for none."""

BASE: Mapping[str, Any] = {
    "target": {"checkpoint": "t"},
    "draft": {"checkpoint": "d"},
    "speculative": {"num_steps": 3, "eagle_topk": 1, "num_draft_tokens": 4},
}


def make(
    space: Mapping[str, Any],
    *,
    profile: str = "demo",
    seed: int = 0,
    budget: Mapping[str, Any] | None = None,
    base: Mapping[str, Any] = BASE,
    verdict: Callable[[Arm], tuple[str, ...]] = lambda arm: (),
    baselines: Sequence[str] = ("as_it_stands", "off"),
) -> Design:
    """A design over ``space``."""
    study = StudyFile.model_validate(
        {
            "version": 1,
            "config": "eaglecfg.yaml",
            "deployment": "chat",
            "launch": {"prefix": ["x"]},
            "space": dict(space),
            "workload": {"prompts": "p"},
            "profile": profile,
            "seed": seed,
            "budget": dict(budget or {}),
            "baselines": list(baselines),
        }
    )
    document = Document("study.yaml", ".", "", {}, {})
    return make_design(study, read_space(document, space, Deployment.model_validate(dict(base))), verdict)


@dataclass
class Simulation:
    """Drives a design to its end. ``spread`` is one launch's deviation in logs, ``drift`` per launch;
    ``weather`` is what else the machine adds to the launch of a number,
    ``more`` what a good launch leaves besides its score,
    ``cycle`` the milliseconds of a verify step. With ``blocks``, a launch has so many, each with a deviation
    ``block_spread`` of its own; ``futility`` leaves the last of bad ones out."""

    design: Design
    truth: Truth
    rng: random.Random
    spread: float = 0.02
    drift: float = 0.0
    fault: Fault = lambda arm, number: ""
    cycle: Callable[[Arm], float] = lambda arm: 8.0
    weather: Callable[[int], float] = lambda number: 0.0
    more: Callable[[Wanted, float], Mapping[str, Any]] = lambda step, score: {}
    blocks: int = 0
    block_spread: float = 0.0
    futility: bool = True
    events: list[Event] = field(default_factory=list)
    steps: list[Wanted] = field(default_factory=list)
    _folded: tuple[int, History] | None = None

    def write(self, kind: str, **data: Any) -> None:
        self.events.append(Event(len(self.events) + 1, kind, float(len(self.events)), data))

    @property
    def history(self) -> History:
        if self._folded is None or self._folded[0] != len(self.events):
            self._folded = len(self.events), fold(self.events, "c")
        return self._folded[1]

    def run(self, most: int = 10_000, search_over: bool = False) -> Finished | None:
        """Launch until the schedule ends, or ``most`` times."""
        for _ in range(most):
            if move := find_move(self.design, self.history):
                data = {"change": move.change, "since": list(move.since), "aside": list(move.aside)}
                self.write("drift", **data, conditions="c")
                continue
            step = next_step(self.design, self.history, search_over=search_over)
            if isinstance(step, Finished):
                return step
            if isinstance(step, Rejected):
                self.write("rejected", arm=described(step.arm), findings=step.findings, conditions="c")
            else:
                self.launch(step)
        return None

    def step(self) -> Wanted | str:
        """The next launch that the schedule wants, or why it wants none; what it rejects is written."""
        while isinstance(step := next_step(self.design, self.history), Rejected):
            self.write("rejected", arm=described(step.arm), findings=step.findings, conditions="c")
        return step if isinstance(step, Wanted) else step.why

    def launch(self, step: Wanted) -> None:
        number = self.history.last_number + 1
        self.steps.append(step)
        arm = described(step.arm)
        self.write(
            "launch",
            n=number,
            arm=arm,
            phase=step.phase,
            round=step.round,
            conditions="c",
            folder="",
            again=step.again,
        )
        failure = self.fault(step.arm, number)
        weather = self.drift * number + self.weather(number)
        score = self.truth(step.arm) + weather + self.rng.gauss(0, self.spread)
        blocks, curtailed = self.measured(step, score)
        score = mean(blocks) if blocks else score
        self.write(
            "ended",
            n=number,
            failure=failure,
            message=f"{failure} of {step.arm.label}",
            lines=[],
            scores={} if failure else {"1": score},
            counters={} if failure else {"1": [20.0, 10.0, 10.0 * self.cycle(step.arm), 10.0]},
            blocks={"1": blocks} if blocks and not failure else {},
            curtailed=[1] if curtailed and not failure else [],
            startup_s=1.0,
            seconds=2.0,
            agreement=1.0,
            rewritten={},
            limits=[],
            ran=step.arm.key,
            ran_arm=None,
        )
        self.events[-1].data.update({} if failure else self.more(step, score))  # type: ignore[attr-defined]

    def measured(self, step: Wanted, score: float) -> tuple[list[float], bool]:
        """The blocks of a launch, and whether the last ones were left out."""
        # Noise is drawn for all of them, so that studies with and without futility meet the same.
        whole = [score + self.rng.gauss(0, self.block_spread) for _ in range(self.blocks)]
        reference = reference_for(self.design, self.history, step) if self.futility else {}
        for count in range(1, self.blocks):
            if pointless(reference, 1, whole[:count]):
                return whole[:count], True
        return whole, False

    @property
    def sequence(self) -> list[tuple[str, str, int]]:
        return [(step.arm.label, step.phase, step.round) for step in self.steps]
