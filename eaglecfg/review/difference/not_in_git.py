"""Files of a checkpoint that git does not give at a revision: they are not known, which is not absent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from eaglecfg.checkpoint.facts import CheckpointFacts, FileProblem
from eaglecfg.record import replace
from eaglecfg.review.difference.revision import Blob, Revision
from eaglecfg.review.difference.sides import Side

POINTER = b"version https://git-lfs.github.com/spec/"
"""How a file begins whose content git keeps somewhere else (LFS)."""

_OID = re.compile(rb"^oid sha256:([0-9a-f]{64})$", re.MULTILINE)
_SIZE = re.compile(rb"^size (\d{1,20})$", re.MULTILINE)

CONFIG = "config.json"
BESIDE = (CONFIG, "model.safetensors.index.json", "pytorch_model.bin.index.json")
"""Files that weights go with: beside others of these they are other weights, as far as anybody knows."""

ABSENT = frozenset(("no-weights", "missing-shard", "missing-number", "missing-file"))
"""Kinds of problems that say of weights that they are not there."""

LARGEST = 64 << 20
NOT_IN_GIT = "not in git"
"""Key of the problem that says so."""


def is_weights(name: str) -> bool:
    """Whether a file holds weights, by its name."""
    return name.endswith((".safetensors", ".bin"))


def weights_not_in_git(facts: CheckpointFacts) -> bool:
    """Whether the weights are not known because git does not give them."""
    return any(problem.key == NOT_IN_GIT for problem in facts.problems)


def pointed_at(raw: bytes) -> tuple[str, int] | None:
    """The SHA-256 and the size of the content that a pointer of LFS stands for; None for other files."""
    if not raw.startswith(POINTER):
        return None
    name, size = _OID.search(raw), _SIZE.search(raw)
    return (name[1].decode(), int(size[1])) if name and size else ("", -1)


class CheckpointFiles:
    """What can be told of one checkpoint folder ``inside`` at a revision.

    ``full`` is the folder in the working tree, ``blobs`` are the revision's files below it. ``lost`` are
    names of files whose content could not be had.
    """

    def __init__(
        self, side: Side, revision: Revision, inside: str, full: Path, blobs: Sequence[Blob]
    ) -> None:
        self._side, self._revision, self._inside, self._full, self._blobs = (
            side,
            revision,
            inside,
            full,
            blobs,
        )
        self.lost: set[str] = set()

    @cached_property
    def belong(self) -> bool:
        """Whether the working tree's weights can stand for those that git does not keep: what git keeps
        beside them is still the same."""
        return all(self._same(name) for name in BESIDE)

    def _same(self, name: str) -> bool:
        path = f"{self._inside}/{name}"
        blob = next((each for each in self._blobs if each.path == path), None)
        here = self._full / name
        if blob is None:
            return True  # git does not keep it either
        try:
            return here.is_file() and here.read_bytes() == self._revision.read(blob, LARGEST)
        except OSError:
            return False

    def stands_for(self, blob: Blob, raw: bytes) -> bool:
        """Whether the working tree's file of that name can be the one whose content git does not give: it is
        as large. ``raw`` is what git gave: a pointer, or the beginning."""
        here = self._full / blob.path.removeprefix(f"{self._inside}/")
        pointed = pointed_at(raw)
        try:
            found = here.stat().st_size
            if pointed is not None and found == len(raw) and here.read_bytes() == raw:
                return True  # the same pointer, whose content nobody has fetched
        except OSError:
            return False
        size = pointed[1] if pointed is not None else blob.size if blob.kind == "file" else None
        return self.belong if size is None else found == size

    def told(self, facts: CheckpointFacts, label: str) -> CheckpointFacts:
        """``facts`` without what is absent only because git does not keep it: that is not known instead."""
        problems = list(facts.problems)
        if any(map(is_weights, self.lost)) or (not self._keeps_weights and _any(facts, ABSENT)):
            problems = [each for each in problems if each.kind not in ABSENT]
            problems.insert(0, _unknown(facts, f"the weights of {facts.shown}", label))
        if _any(facts, {"missing-config"}) and (CONFIG in self.lost or not self._keeps(CONFIG)):
            problems = [each for each in problems if each.kind != "missing-config"]
            problems.insert(0, _unknown(facts, f"the config.json of {facts.shown}", label))
        return facts if problems == list(facts.problems) else replace(facts, problems=tuple(problems))

    @property
    def _keeps_weights(self) -> bool:
        """Whether git keeps weights of this folder, so that those which it does not have were not there."""
        return any(is_weights(name) for name in self._kept)

    def _keeps(self, name: str) -> bool:
        return f"{self._inside}/{name}" in self._kept

    @cached_property
    def _kept(self) -> frozenset[str]:
        other = self._side.other.list(self._inside) if self._side.other is not None else ()
        return frozenset(blob.path for blob in (*self._blobs, *other))


def _any(facts: CheckpointFacts, kinds: frozenset[str] | set[str]) -> bool:
    return any(problem.kind in kinds for problem in facts.problems)


def _unknown(facts: CheckpointFacts, what: str, label: str) -> FileProblem:
    message = (
        f"git does not give {what} as {label} had it, and no file of the working tree stands for it"
        if what.startswith("the config.json")
        else f"git does not give {what} as {label} had them, and no file of the working tree stands for them"
    )
    help = "compare with a folder that holds all of the checkpoint"
    return FileProblem("unreadable", facts.shown, message, help, True, NOT_IN_GIT)
