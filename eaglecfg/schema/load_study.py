"""A study document to its typed model, and the question which kind of file a document is."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from eaglecfg.schema.accept import accept
from eaglecfg.schema.deployment import Deployment
from eaglecfg.schema.fields import takes_text
from eaglecfg.schema.gather import gather
from eaglecfg.schema.load import distinct
from eaglecfg.schema.loaded import LoadedStudy, SchemaProblem
from eaglecfg.schema.wording import problem_of, shown_value
from eaglecfg.source.document import Document
from eaglecfg.source.span import KeyPath

if TYPE_CHECKING:
    from eaglecfg.schema.study import StudyFile

_CONFIG_KEYS = frozenset(("deployments", "engine", "defaults"))
_STUDY_KEYS = frozenset(("space", "workload", "objective", "budget", "launch", "config"))


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
        return LoadedStudy(document, None)
    given = gather(document, (), lambda path: _is_text(StudyFile, path))
    problems: list[SchemaProblem] = []
    removed = _space(document, given.data, problems)
    accepted = accept(StudyFile, given.data)
    for refusal in accepted.refusals:
        problem = problem_of(StudyFile, refusal, document, lambda path: path)
        problems.append(problem)
    return LoadedStudy(
        document, accepted.model, distinct(document, problems), frozenset(removed | accepted.removed)
    )


def _is_text(study: type[StudyFile], path: KeyPath) -> bool:
    # Choices of an environment variable are text, as they are in the deployment.
    if path[:1] == ("space",) and len(path) == 3 and isinstance(path[2], int):
        return takes_text(Deployment, tuple(str(path[1]).split(".")))
    return takes_text(study, path)


def _space(document: Document, data: Mapping[str, Any], problems: list[SchemaProblem]) -> set[KeyPath]:
    """Take out of the space what is neither choices nor a range; a rule looks at the values inside."""
    from eaglecfg.schema.study import Range

    space = data.get("space")
    removed: set[KeyPath] = set()
    if not isinstance(space, dict):
        return removed
    for key, value in list(space.items()):
        at: KeyPath = ("space", key)
        if isinstance(value, list):
            continue
        if not isinstance(value, dict):
            got = shown_value(value, document.places.get(at))
            message = f"space.{key} takes a list of choices or a range, not {got}"
            one = document.place(at).text
            help = f"write [{one or 'a, b'}], or {{low: 1, high: 8}}"
            problems.append(SchemaProblem("wrong-type", at, message, help))
        elif {"low", "high"} & set(value):
            accepted = accept(Range, dict(value))
            if not accepted.refusals:
                continue
            for refusal in accepted.refusals:
                problem = problem_of(Range, refusal, document, partial(_under, at))
                message = problem.message.replace("the file ", "the range ", 1)
                problems.append(
                    SchemaProblem(
                        problem.kind, problem.path, f"space.{key}: {message}", problem.help, problem.at_key
                    )
                )
        else:
            continue
        del space[key]
        removed.add(at)
    return removed


def _under(at: KeyPath, path: KeyPath) -> KeyPath:
    return (*at, *path)
