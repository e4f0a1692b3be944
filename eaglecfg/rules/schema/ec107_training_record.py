"""The training record beside the draft must be readable and agree with what the file declares."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Item, NotApplicable, Rule, Severity, Today

_VERSION = 1
"""The version of the record that is understood."""


def check(context: Context) -> Iterator[Item]:
    """Look at eaglecfg-training.json, and compare it with ``capture.trained_boundaries``."""
    if context.draft is None or context.draft.training is None:
        yield NotApplicable()
        return
    file = f"{context.draft.shown}/eaglecfg-training.json"
    record, declared = context.training, context.model.capture.trained_boundaries
    if record is None:
        yield Finding(
            f"{file} is not a training record: {context.training_problem}",
            path=context.where("draft", "checkpoint"),
            why="nothing else tells which boundaries the draft was trained on",
            help='write {"version": 1, "boundaries": [...]}, or declare capture.trained_boundaries instead',
            evidence=(Evidence(file, context.training_problem.partition(":")[0], "not as expected"),),
        )
        return
    found = _listed(record.boundaries)
    if record.version != _VERSION:
        yield Finding(
            f"{file} has version {record.version}, but version {_VERSION} is what this eaglecfg reads",
            path=context.where("draft", "checkpoint"),
            why="its keys may mean something else",
            help="update eaglecfg, or write the record in version 1",
            evidence=(Evidence(file, "version", str(record.version)),),
        )
    if any(boundary < 0 for boundary in record.boundaries) or not record.boundaries:
        yield Finding(
            f"{file} gives the boundaries {found}, but boundaries count from 0 and at least one is captured",
            path=context.where("draft", "checkpoint"),
            why="the draft cannot have been trained on them",
            help="write the boundaries that the trainer captured",
            evidence=(Evidence(file, "boundaries", found),),
        )
    elif declared is not None and tuple(declared) != record.boundaries:
        yield Finding(
            f"capture.trained_boundaries is {_listed(declared)}, but the draft's training record has {found}",
            path=context.where("capture", "trained_boundaries"),
            why="one of the two is wrong, and what is captured can only be compared with the right one",
            help=f"remove capture.trained_boundaries if the record is right, or correct {file}",
            evidence=(Evidence(file, "boundaries", found, "recorded by the trainer"),),
            values={"declared": list(declared), "recorded": list(record.boundaries)},
        )


def _listed(boundaries: list[int] | tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, boundaries))}]"


RULE = Rule(
    id="EC107",
    slug="training-record",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=check,
)
