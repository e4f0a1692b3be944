"""The next arm of a space too large to list. Optuna suggests; the ledger is the truth it is rebuilt from."""

from __future__ import annotations

import hashlib
import random
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eaglecfg.tune.space import Dimension, Parameter, Point, Space

if TYPE_CHECKING:
    import optuna

RANDOM_EVERY = 10
"""Every tenth suggestion is uniform, for ever: insurance against a model that is wrong."""

STARTUP = 8
"""Told launches before the sampler's model is asked at all."""

TRIES = 64
"""Suggestions drawn to find an arm that has not been launched, before uniform draws take over."""


@dataclass(frozen=True, slots=True)
class Told:
    """What the sampler learns of one launch or rejected arm. ``score`` is None for a failure."""

    point: Mapping[str, int]
    score: float | None
    broken: bool = False


def derived_seed(seed: int, told: int, draw: int = 0) -> int:
    """The sampler's seed, a function of the study's seed and of how much it has been told: a study that was
    interrupted goes on exactly as one that was not."""
    text = f"{seed}:{told}:{draw}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:4], "big")


def suggestions(space: Space, told: Sequence[Told], seed: int) -> Iterator[Point]:
    """Points to try next, best first, without end; the caller takes the first that is new and feasible.

    The points depend only on the arguments. Raises ModuleNotFoundError where optuna is not installed.
    """
    if len(told) % RANDOM_EVERY != RANDOM_EVERY - 1 and len(told) >= STARTUP:
        for draw in range(TRIES):
            yield _ask(space, told, derived_seed(seed, len(told), draw))
    rng = random.Random(derived_seed(seed, len(told), TRIES))
    while True:
        yield _uniform(space, rng)


def _parameters(space: Space, point: Mapping[str, int]) -> Iterator[Parameter]:
    """Parameters that are in play at ``point``, which need hold only those before the next."""
    values: dict[str, Any] = {}
    for dimension in space.dimensions:
        if not space.in_play(dimension, values):
            continue
        yield dimension.parameter
        for _, inner in dimension.active(point):
            yield inner
        values[dimension.key] = dimension.value(point)


def _uniform(space: Space, rng: random.Random) -> Point:
    """One of the space's choices per key, each choice of a key equally likely."""
    point: Point = {}
    for dimension in space.dimensions:
        point |= _pick(dimension, rng)
    return {parameter.name: point[parameter.name] for parameter in _parameters(space, point)}


def _pick(dimension: Dimension, rng: random.Random) -> Point:
    choices = list(dimension.points())
    return choices[rng.randrange(len(choices))]


def _ask(space: Space, told: Sequence[Told], seed: int) -> Point:
    """One suggestion of a sampler that is built anew and told everything."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        # group: parameters of a branch not taken (a step count while speculation is off) are modelled apart.
        sampler = optuna.samplers.TPESampler(
            seed=seed, n_startup_trials=STARTUP, multivariate=True, group=True, constant_liar=False
        )
        study = optuna.create_study(direction="maximize", sampler=sampler)
    worst = min((item.score for item in told if item.score is not None), default=0.0)
    for item in told:
        study.add_trial(_trial(space, item, worst))
    trial = study.ask()
    point: Point = {}
    for parameter in _parameters(space, point):
        point[parameter.name] = _suggest(trial, parameter)
    return point


def _suggest(trial: optuna.Trial, parameter: Parameter) -> int:
    if len(parameter.options) == 1:
        return 0
    last = len(parameter.options) - 1
    if parameter.ordinal:
        return trial.suggest_int(parameter.name, 0, last)
    return int(trial.suggest_categorical(parameter.name, tuple(range(last + 1))))


def _trial(space: Space, item: Told, worst: float) -> optuna.trial.FrozenTrial:
    """A failure is a bad value and a broken constraint, never a failed trial: samplers repeat those."""
    import optuna

    distributions: dict[str, optuna.distributions.BaseDistribution] = {}
    params: dict[str, int] = {}
    for parameter in _parameters(space, item.point):
        last = len(parameter.options) - 1
        if last == 0:
            continue
        params[parameter.name] = item.point[parameter.name]
        distributions[parameter.name] = (
            optuna.distributions.IntDistribution(0, last)
            if parameter.ordinal
            else optuna.distributions.CategoricalDistribution(tuple(range(last + 1)))
        )
    broken = item.broken or item.score is None
    return optuna.trial.create_trial(
        params=params,
        distributions=distributions,
        value=worst if item.score is None else item.score,
        constraints={"usable": 1.0 if broken else -1.0},
    )
