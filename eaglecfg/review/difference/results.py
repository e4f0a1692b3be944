"""Which recorded results a change takes the ground from: those of studies, and the declared accept length."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from eaglecfg.errors import ConfigUnreadable
from eaglecfg.review.difference.effect import Effect, Group
from eaglecfg.schema.load_study import kind_of, load_study
from eaglecfg.schema.study import StudyFile
from eaglecfg.source.document import Document
from eaglecfg.source.read import read_document
from eaglecfg.tune.arm import arm_key
from eaglecfg.tune.opened import STUDIES
from eaglecfg.tune.tables import RESULT_JSON

MEASURED: frozenset[Group] = frozenset(("engine", "capture", "draft", "checkpoint", "setting", "environment"))
"""What a speed depends on."""

WIRED: frozenset[Group] = frozenset(("engine", "capture", "draft", "checkpoint"))
"""What an accept length depends on, beside the shape of speculation."""

MOST_STUDIES = 100
LARGEST_RESULT = 16 << 20

CONDITIONS = ("launch.", "workload.", "objective.concurrency", "profile")
"""Keys of a study file under which its launches were measured; others only say what is searched."""


def results_of_deployment(
    name: str, document: Document, groups: Sequence[tuple[Group, str]], old: Effect, new: Effect | None
) -> Iterator[str]:
    """A sentence for each recorded result that the changes named by ``groups`` bear on.

    ``new`` is None where the deployment is gone.
    """
    if new is not None:
        yield from _declared(groups, old, new)
    if new is not None and not any(group in MEASURED for group, _ in groups):
        return
    for stem in _studies_of(name, document):
        yield from _of_study(stem, document, groups, new)


def results_of_study(shown: str, document: Document, changed: Sequence[str]) -> Iterator[str]:
    """The same for a study file whose keys ``changed`` differ."""
    conditions = [name for name in changed if name.startswith(CONDITIONS)]
    model = load_study(document).model
    if not conditions or model is None:
        return
    # Its own name: a study of a revision is put somewhere else to be read.
    home = os.path.normpath(Path(document.name).absolute().parent / model.config)
    stem = Path(shown).stem
    if _result(Path(home).parent, stem) is not None:
        yield (
            f"launches recorded in {STUDIES / stem} were measured under other conditions "
            f"({', '.join(conditions)}): the next run of the study sets them aside"
        )


def _declared(groups: Sequence[tuple[Group, str]], old: Effect, new: Effect) -> Iterator[str]:
    length = new.context.model.expected_accept_length
    if length is None or length != old.context.model.expected_accept_length:
        return
    if any(group in WIRED or name.startswith("speculative_") for group, name in groups):
        yield (
            f"expected_accept_length {length:g} was measured before this change; measure it again "
            "(eaglecfg tune --apply writes it, eaglecfg validate --live compares it)"
        )


def _of_study(
    stem: str, document: Document, groups: Sequence[tuple[Group, str]], new: Effect | None
) -> Iterator[str]:
    folder = Path(document.folder)
    result = _result(folder, stem)
    if result is not None:
        place = STUDIES / stem / RESULT_JSON
        row = _row(result, new) if not any(group in WIRED for group, _ in groups) else None
        if row is not None:
            yield f"study {stem} measured this setting ({row.get('label', '')}){_gain(row)}: {place}"
        else:
            yield f"study {stem} measured another state of this deployment: {place} does not hold any more"
    for name in _recorded(folder, stem):
        yield f"{name} was recorded before this change and does not describe the deployment any more"


def _row(result: Mapping[str, Any], new: Effect | None) -> Mapping[str, Any] | None:
    """The row of a result that measured what the deployment launches now."""
    settings = result.get("settings")
    if new is None or not isinstance(settings, list):
        return None
    key = arm_key(new.context.model)
    rows = [row for row in settings if isinstance(row, dict) and row.get("arm") == key]
    return rows[0] if rows and rows[0].get("launches") else None


def _gain(row: Mapping[str, Any]) -> str:
    """The gain over the deployment as it stood, or over speculation off where only that was measured."""
    gain, other = row.get("against_as_is"), "the deployment as it stood"
    if gain is None:
        gain, other = row.get("against_off"), "speculation off"
    given = [gain.get(name) for name in ("ratio", "low", "high")] if isinstance(gain, dict) else []
    values = [float(value) for value in given if isinstance(value, int | float)]
    if len(values) != 3:
        return ""
    ratio, low, high = ((value - 1) * 100 for value in values)
    return f", {ratio:+.1f} % against {other} ({low:+.1f} to {high:+.1f} %)"


def _result(folder: Path, stem: str) -> Mapping[str, Any] | None:
    path = folder / STUDIES / stem / RESULT_JSON
    try:
        if path.stat().st_size > LARGEST_RESULT:
            return None
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _recorded(folder: Path, stem: str) -> list[str]:
    """Result tables that were committed for a study: files of studies/results that bear its name."""
    results = folder / "studies" / "results"
    try:
        names = sorted(os.listdir(results))  # noqa: PTH208
    except OSError:
        return []
    return [
        f"studies/results/{name}"
        for name in names
        if name.endswith((".md", ".json")) and (name.startswith((f"{stem}-", f"{stem}.")))
    ]


def _studies_of(name: str, document: Document) -> list[str]:
    """Names of the studies beside a config that tune its deployment ``name``."""
    folder = Path(document.folder) / "studies"
    try:
        files = sorted(one for one in os.listdir(folder) if one.endswith((".yaml", ".yml")))  # noqa: PTH208
    except OSError:
        return []
    found = []
    for file in files[:MOST_STUDIES]:
        model = _study(folder / file)
        if model is not None and model.deployment == name:
            home = os.path.normpath(folder / model.config)
            if home == os.path.normpath(Path(document.folder) / Path(document.name).name):
                found.append(Path(file).stem)
    return found


def _study(path: Path) -> StudyFile | None:
    try:
        document = read_document(path)
    except ConfigUnreadable:
        return None
    return load_study(document).model if kind_of(document) == "study" else None
