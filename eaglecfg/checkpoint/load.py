"""A checkpoint folder to CheckpointFacts. Nothing that a file holds makes it raise."""

from __future__ import annotations

import gc
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from eaglecfg.checkpoint.facts import CheckpointFacts, FileProblem
from eaglecfg.checkpoint.fault import legible
from eaglecfg.checkpoint.jsonfiles import (
    CONFIG,
    GENERATION,
    QUANTIZATION,
    TOKENIZER,
    TRAINING,
    missing_code,
    read_config,
    read_side_file,
)
from eaglecfg.checkpoint.limits import MAX_FOLDER_ENTRIES
from eaglecfg.checkpoint.weights import Weights, read_weights

if TYPE_CHECKING:
    from eaglecfg.checkpoint.hubid import HubAccess, HubSource

Role = Literal["target", "draft"]
MOST_BESIDE = 1_000
"""Entries of a folder among which a missing one is looked for under a similar name."""


def read_checkpoint(
    base: Path,
    spelled: str,
    *,
    role: Role,
    deep: bool = False,
    beside: str = "",
    revision: str | None = None,
    hub: Callable[[], HubAccess] | None = None,
) -> CheckpointFacts:
    """The facts of the checkpoint that the config calls ``spelled``, relative to the folder ``base``.

    A draft is small, so all its files are opened and the values of its d2t and t2d are read. Of a sharded
    target every file is stat-ed, and those are opened that hold a tensor some rule looks at (``wanted.py``);
    ``deep`` opens all. Whatever is missing, broken or refused is in ``problems``. No file outside the folder
    is read, save through symlinks to regular files, which hub caches are made of. ``beside`` is the config
    file as the user spelled it: files are then shown as seen from where the user stands.

    What is no folder here and can be a hub id, at ``revision`` where that is given, is looked for in the
    local hub cache, or asked of the hub, as the answer of ``hub`` says; without it no such one is read.
    """
    shown = legible(spelled.rstrip("/") or ("/." if spelled else ""))
    folder = os.path.join(base, spelled)  # noqa: PTH118 - a Path drops what the user spelled, such as a final /
    absent = _folder_problem(folder, spelled, shown)
    if absent is None:
        return read_folder(folder, seen_from(beside, shown), role=role, deep=deep)
    if absent.kind == "missing-folder":
        from eaglecfg.checkpoint.hub import named_here, read_hub  # most checkpoints are folders

        named = named_here(base, spelled, revision)
        if named is not None:
            return read_hub(named, shown, role=role, deep=deep, access=hub)
    return CheckpointFacts(folder, shown, None, problems=(absent,))


def read_folder(
    folder: str, shown: str, *, role: Role, deep: bool, hub: HubSource | None = None
) -> CheckpointFacts:
    """The facts of a folder that is there. ``hub`` says which model's snapshot it is, if it is one."""
    present, problems = _listing(folder, shown)
    config, found = read_config(folder, shown)
    problems += found
    files = [CONFIG] if config is not None else []
    side: dict[str, Mapping[str, Any] | None] = {}
    for name in (GENERATION, TOKENIZER, TRAINING, QUANTIZATION):
        if name in present:
            side[name], found = read_side_file(folder, shown, name)
            problems += found
            files.append(name)
    if config is not None:
        problems += missing_code(config, shown, present)
    layers = config.integer("num_hidden_layers") if config is not None else None
    whole = deep or role == "draft"
    weights = Weights()  # of a folder that cannot be listed nothing more is said
    if not any(problem.kind == "unreadable" and problem.file == shown for problem in problems):
        with _collector_at_rest():
            weights = read_weights(
                folder, shown, present, everything=whole, maps=role == "draft", layers=layers
            )
    return CheckpointFacts(
        folder=folder,
        shown=shown,
        config=config,
        names=weights.names,
        tensors=weights.tensors,
        weights=weights.kind,
        vocabulary=weights.vocabulary,
        generation_config=side.get(GENERATION),
        tokenizer_config=side.get(TOKENIZER),
        training=side.get(TRAINING),
        quantization=side.get(QUANTIZATION),
        problems=(*problems, *weights.problems),
        files=(*files, *weights.files),
        hub=hub,
    )


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """No garbage collection: none of the many small objects is garbage, and looking at them costs a third."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def seen_from(config_file: str, spelled: str) -> str:
    """``spelled``, which counts from the config file's folder, as a path from where that file was named."""
    folder = os.path.dirname(config_file)  # noqa: PTH120 - text of the user's, not a file to open
    return os.path.normpath(os.path.join(folder, spelled)) if folder else spelled  # noqa: PTH118


def _folder_problem(folder: str, spelled: str, shown: str) -> FileProblem | None:
    """Why ``folder`` cannot be read at all, or None."""
    if not spelled.strip():
        return FileProblem("missing-folder", shown, "the checkpoint's name is empty", "name a folder", True)
    if "://" in spelled:
        message = f"{shown} is an address; only local folders are read"
        return FileProblem("not-local", shown, message, "download it and name the local folder", True)
    try:
        mode = os.stat(folder).st_mode  # noqa: PTH116
    except PermissionError:
        return FileProblem("unreadable", shown, f"{shown} cannot be read: permission denied", "", True)
    except (OSError, ValueError):
        return _not_here(folder, spelled, shown)
    if not stat.S_ISDIR(mode):
        message = f"{shown} is a file; a checkpoint is the folder that holds config.json and the weights"
        if shown.endswith(".gguf"):
            return FileProblem(
                "not-supported",
                shown,
                f"{shown} is a GGUF file; only safetensors and .bin folders are read",
                "",
                True,
            )
        return FileProblem("not-a-folder", shown, message, "name the folder", True)
    return None


def _not_here(folder: str, spelled: str, shown: str) -> FileProblem:
    message = f"there is no folder {shown}"
    help = "paths count from the folder of the file that names them"
    if spelled.startswith("~"):
        help = "~ is not expanded: write the path in full"
    elif "$" in spelled:
        help = "variables such as $HOME are not expanded: write the path in full"
    elif near := _near(folder, spelled):
        help = f"did you mean {near}? {help}"
    return FileProblem("missing-folder", shown, message, help, True)


def _near(folder: str, spelled: str) -> str | None:
    """``spelled`` with another last name, of a folder beside the missing one whose name is much like it."""
    import difflib  # only on the way to a problem

    parent, name = os.path.split(folder.rstrip("/"))
    try:
        with os.scandir(parent) as entries:
            names = [entry.name for entry in islice(entries, MOST_BESIDE) if entry.is_dir()]
    except (OSError, ValueError):
        return None
    found = difflib.get_close_matches(name, names, n=1, cutoff=0.75)
    return os.path.join(os.path.dirname(spelled.rstrip("/")), found[0]) if found else None  # noqa: PTH118, PTH120


def _listing(folder: str, shown: str) -> tuple[list[str], list[FileProblem]]:
    """Names in the folder, and why there are none or not all."""
    names: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if len(names) == MAX_FOLDER_ENTRIES:
                    message = (
                        f"{shown} holds more than {MAX_FOLDER_ENTRIES:,} files; the rest is not looked at"
                    )
                    return names, [
                        FileProblem("not-supported", shown, message, "name the checkpoint itself", True)
                    ]
                names.append(entry.name)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        return [], [
            FileProblem(
                "unreadable", shown, f"{shown} cannot be read: {reason}", "check its permissions", True
            )
        ]
    return names, []
