"""A study as an Optuna SQLite file, for optuna-dashboard. Written, never read back."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eaglecfg.errors import UsageError
from eaglecfg.tune.arm import OFF
from eaglecfg.tune.history import MACHINE_FAILURES, History, Launch
from eaglecfg.tune.ledger import Event
from eaglecfg.tune.opened import Opened

if TYPE_CHECKING:
    import optuna


def export(opened: Opened, history: History, events: tuple[Event, ...], path: Path) -> int:
    """Write every finished launch to a new SQLite file as a trial; returns how many.

    The value is output tokens per second (geometric mean over concurrencies). A failure of the setting is a
    failed trial with its class and message, one of the machine a pruned trial. Parameters are what ran, as
    text, so that a space that was edited since still opens. Raises UsageError where the file exists.
    """
    import optuna

    if path.exists():
        raise UsageError(f"{path}: a file is there already; give --sqlite a name that is free.")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}; make it first.")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    beside = path.with_name(f".{path.name}.new")
    beside.unlink(missing_ok=True)
    try:
        study = optuna.create_study(
            storage=f"sqlite:///{beside}", study_name=opened.name, direction="maximize"
        )
        study.set_user_attr("conditions", opened.conditions)
        study.add_trials(_trials(history, events))
        study._storage.remove_session()
        beside.rename(path)
    finally:
        beside.unlink(missing_ok=True)
    return len(history.launches)


def _trials(history: History, events: tuple[Event, ...]) -> list[optuna.trial.FrozenTrial]:
    begun = {event.data["n"]: event.at for event in events if event.kind == "launch"}
    ended = {event.data["n"]: event.at for event in events if event.kind == "ended"}
    params = {item.n: _parameters(history.arms[item.ran]["values"]) for item in history.launches}
    options: dict[str, list[str]] = {}
    for values in params.values():
        for name, value in values.items():
            if value not in options.setdefault(name, []):
                options[name].append(value)
    return [
        _trial(item, params[item.n], options, history, begun[item.n], ended[item.n])
        for item in history.launches
    ]


def _trial(
    item: Launch,
    params: Mapping[str, str],
    options: Mapping[str, list[str]],
    history: History,
    begun: float,
    ended: float,
) -> optuna.trial.FrozenTrial:
    import optuna

    states = optuna.trial.TrialState
    state = states.COMPLETE if item.ok else states.PRUNED if item.failure in MACHINE_FAILURES else states.FAIL
    trial = optuna.trial.create_trial(
        state=state,
        params=dict(params),
        distributions={
            name: optuna.distributions.CategoricalDistribution(tuple(options[name])) for name in params
        },
        value=math.exp(item.score) if item.ok else None,
        user_attrs=_attributes(item, history),
    )
    trial.datetime_start = datetime.datetime.fromtimestamp(begun)
    trial.datetime_complete = datetime.datetime.fromtimestamp(ended)
    return trial


def _attributes(item: Launch, history: History) -> dict[str, Any]:
    tokens = sum(row[0] for row in item.counters.values())
    steps = sum(row[1] for row in item.counters.values())
    out: dict[str, Any] = {
        "launch": item.n,
        "setting": str(history.arms[item.ran]["label"]),
        "phase": item.phase,
        "folder": item.folder,
        "seconds": item.seconds,
    }
    out |= {f"tokens per second at {level}": math.exp(value) for level, value in item.scores.items()}
    if steps:
        out["accept length"] = tokens / steps
    if item.failure:
        out |= {"failure": item.failure, "message": item.message, "lines": list(item.lines)}
    return out


def _parameters(values: Mapping[str, Any]) -> dict[str, str]:
    """The values of an arm, blocks opened: ``speculative.num_steps`` stands for itself."""
    out: dict[str, str] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            out |= {f"{key}.{name}": str(inner) for name, inner in value.items()}
        else:
            out[key] = OFF if value == OFF else str(value)
    return out
