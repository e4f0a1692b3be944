"""The training record beside the draft must be readable and agree with what the file declares."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from eaglecfg.rules.context import Context
from eaglecfg.rules.files.problems import unreadable_record
from eaglecfg.rules.model import (
    Evidence,
    Finding,
    Fix,
    Item,
    NotApplicable,
    NotChecked,
    Rule,
    Severity,
    Today,
)
from eaglecfg.schema.training import TrainingRecord

_VERSION = 1
"""The version of the record that is understood."""


_HELP = 'write {"version": 1, "boundaries": [...]}, or remove the file and declare capture.trained_boundaries'


def check(context: Context) -> Iterator[Item]:
    """Look at eaglecfg-training.json, and compare it with ``capture.trained_boundaries``."""
    broken = _unreadable(context)
    if broken is not None:
        yield broken
        return
    if context.draft is None or context.draft.training is None:
        yield NotApplicable()
        return
    file = f"{context.draft.shown}/eaglecfg-training.json"
    record, declared = context.training, context.model.capture.trained_boundaries
    if record is None:
        yield Finding(
            f"{file} is not a training record: {_problem(context)}",
            path=context.where("draft", "checkpoint"),
            why="nothing else tells which boundaries the draft was trained on",
            help=_HELP,
            evidence=(Evidence(file, "keys", ", ".join(map(str, context.draft.training)) or "none"),),
        )
        return
    found = _listed(record.boundaries)
    yield from _target(context, file, record)
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
            fix=_fix(context, record.boundaries),
            values={"declared": list(declared), "recorded": list(record.boundaries)},
        )


def _target(context: Context, file: str, record: TrainingRecord) -> Iterator[Item]:
    """Whether the target is the one of the training, where its weights were read for that."""
    wanted, digest = (record.target_sha256 or "").strip().lower(), context.target_digest
    wanted = wanted.removeprefix("sha256:")
    if not wanted or digest is None or digest.sha256 == wanted:
        return
    if re.fullmatch(r"[0-9a-f]{64}", wanted) is None:
        yield Finding(
            f"{file} gives a target_sha256 of {len(wanted)} characters, which is no SHA-256",
            path=context.where("draft", "checkpoint"),
            severity=Severity.WARNING,
            today=Today.NOTHING,
            why="whether the target is the one of the training cannot be told by it",
            help="write the 64 hexadecimal digits that sha256sum prints for the target's weight file",
            evidence=(Evidence(file, "target_sha256", wanted[:80]),),
        )
        return
    if digest.problem:
        yield NotChecked(f"target_sha256 is not compared: {digest.problem}")
        return
    yield Finding(
        f"{digest.file} is not the weight file that the draft was trained on, as {file} tells",
        path=context.where("target", "checkpoint"),
        severity=Severity.WARNING,
        today=Today.SILENT,
        why="a draft that was trained on another target's states has fewer of its tokens accepted; the same "
        "weights saved again have another SHA-256 too",
        help="serve the target of the training; where these are its weights saved anew, write their SHA-256 "
        "into the record",
        evidence=(
            Evidence(file, "target_sha256", wanted, "recorded at training"),
            Evidence(digest.file, "SHA-256", digest.sha256),
        ),
        values={"recorded": wanted, "found": digest.sha256},
    )


def _unreadable(context: Context) -> Finding | None:
    """The record where it is no JSON at all, so that not even its keys are known."""
    problems = context.draft.problems if context.draft is not None and context.speculates else ()
    found = next(filter(unreadable_record, problems), None)
    if found is None:
        return None
    return Finding(
        found.message,
        path=context.where("draft", "checkpoint"),
        why="nothing else tells which boundaries the draft was trained on",
        help=_HELP,
        evidence=(Evidence(found.file, found.key, "not JSON"),),
    )


def _problem(context: Context) -> str:
    """What is wrong with the record; of a key that it lacks also what it has instead."""
    assert context.draft is not None
    keys = list(map(str, context.draft.training or ()))
    lacking = [key for key in ("version", "boundaries") if key not in keys]
    if not lacking:
        return context.training_problem
    from difflib import get_close_matches  # only on the way to a finding

    unknown = [key for key in keys if key not in TrainingRecord.model_fields]
    near = get_close_matches(lacking[-1], [key.removeprefix("trained_") for key in unknown], n=1, cutoff=0.7)
    meant = next((key for key in unknown if near and key.removeprefix("trained_") == near[0]), None)
    has = f"it has {', '.join(keys)}" if keys else "it is empty"
    return f"it lacks {' and '.join(lacking)} ({has})" + (
        f"; {meant} should be {lacking[-1]}" if meant is not None else ""
    )


def _listed(boundaries: list[int] | tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, boundaries))}]"


def _fix(context: Context, recorded: Sequence[int]) -> Fix | None:
    """What the trainer wrote, where the engine captures just that."""
    found = context.boundaries
    if found is None or tuple(found.captured) != tuple(recorded):
        return None
    text = str(list(recorded))
    path = context.where("capture", "trained_boundaries")
    return Fix(f"set capture.trained_boundaries to {text}", path, text, safe=False)


RULE = Rule(
    id="EC107",
    slug="training-record",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=check,
)
