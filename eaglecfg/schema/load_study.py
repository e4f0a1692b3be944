"""A study document to its typed model, and the question which kind of file a document is."""

from __future__ import annotations

from typing import Literal

from eaglecfg.schema.accept import accept, take_out
from eaglecfg.schema.deployment import Deployment
from eaglecfg.schema.fields import takes_text
from eaglecfg.schema.gather import doubtful, gather
from eaglecfg.schema.load import distinct
from eaglecfg.schema.loaded import LoadedStudy
from eaglecfg.schema.wording import problem_of
from eaglecfg.source.document import Document
from eaglecfg.source.span import KeyPath

_CONFIG_KEYS = frozenset(("deployments", "engine", "defaults"))
_STUDY_KEYS = frozenset(("space", "workload", "objective", "budget", "launch", "config"))

EMPTY_BLOCKS = (
    ("suppress",),
    ("baselines",),
    ("budget",),
    ("objective",),
    ("objective", "limits"),
    ("launch", "env"),
    ("launch", "flags"),
)
"""Keys of a study for which ``budget:`` with nothing below means the same as no such key."""


def kind_of(document: Document) -> Literal["config", "study"] | None:
    """Which kind of file ``document`` is, by its keys; None where no key tells."""
    keys = set(document.data) if isinstance(document.data, dict) else set()
    if "deployments" in keys:
        return "config"
    if keys & _STUDY_KEYS:
        return "study"
    return "config" if keys & _CONFIG_KEYS else None


def load_study(document: Document) -> LoadedStudy:
    """The typed content of a study file. What the schema refuses is in ``problems``; nothing is raised."""
    from eaglecfg.schema.study import StudyFile

    if not isinstance(document.data, dict):
        return LoadedStudy(document, None)  # kind_of takes only mappings for studies
    given = gather(document, (), is_text)
    for *around, key in EMPTY_BLOCKS:
        block = given.data
        for name in around:
            block = block.get(name) if isinstance(block, dict) else None
        if isinstance(block, dict) and key in block and block[key] is None:
            del block[key]
    unknown = doubtful(document, given, is_text)
    accepted = accept(StudyFile, given.data, take_out(given.data, unknown))
    problems = [problem_of(StudyFile, refusal, document, lambda path: path) for refusal in accepted.refusals]
    return LoadedStudy(document, accepted.model, distinct(document, problems), frozenset(accepted.removed))


def is_text(path: KeyPath) -> bool:
    """Whether a scalar at ``path`` of a study file means its spelling."""
    from eaglecfg.schema.study import StudyFile

    # Choices of an environment variable are text, as they are in the deployment.
    if path[:1] == ("space",) and len(path) == 3 and isinstance(path[2], int):
        return takes_text(Deployment, tuple(str(path[1]).split(".")))
    if path[:2] == ("space", "nccl") and sum(isinstance(part, str) for part in path) == 3:
        return True  # an entry that is a block of them; below its keys only a range has keys again
    return takes_text(StudyFile, path)
