"""A config file as loaded: typed deployments, and the way back from each setting to its place in the text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Literal

from eaglecfg.record import record
from eaglecfg.schema.deployment import Deployment, Engine
from eaglecfg.schema.suppression import Suppression
from eaglecfg.source.document import Document
from eaglecfg.source.span import KeyPath

if TYPE_CHECKING:
    # Most runs see no study file.
    from eaglecfg.schema.study import StudyFile


@record
class Remedy:
    """What a machine can write in place of what was refused.

    ``rename`` the key to ``text``, ``set`` the value to the source text ``text``, or ``move`` the key with
    its value ``text`` to the document path ``to``.
    """

    kind: Literal["rename", "set", "move"]
    text: str
    to: KeyPath = ()


@record
class SchemaProblem:
    """A refused key or value: ``unknown-key``, ``wrong-type``, ``missing-key`` or ``same-setting``.

    ``path`` is in document terms; ``at_key`` asks for the key's span rather than the value's. ``deployment``
    is None for a problem outside every deployment. ``help`` names the nearest known key or the accepted form.
    ``other`` is the other place of a setting that is given twice; ``more`` counts problems of the kind that
    were left out after this one.
    """

    kind: str
    path: KeyPath
    message: str
    help: str = ""
    at_key: bool = False
    deployment: str | None = None
    other: KeyPath | None = None
    more: int = 0
    remedy: Remedy | None = None


@record
class LoadedDeployment:
    """One deployment with ``defaults:`` merged in.

    ``model`` holds what the schema accepted; a refused key is absent there, and its path inside the
    deployment (``("parallel", "tp_size")``) is in ``refused``. ``origin`` maps a path inside the deployment
    to its path in the document, which lies under ``defaults`` or under ``deployments.<name>``. ``nulls`` are
    paths inside the deployment that say null: nothing is there, whatever ``defaults`` gives.
    """

    name: str
    model: Deployment
    origin: Mapping[KeyPath, KeyPath]
    refused: frozenset[KeyPath] = frozenset()
    nulls: frozenset[KeyPath] = frozenset()

    def document_path(self, path: KeyPath) -> KeyPath:
        """The document path of ``path``, or of its nearest parent that stands in the file."""
        return document_path(self.name, self.origin, path)


def document_path(deployment: str, origin: Mapping[KeyPath, KeyPath], path: KeyPath) -> KeyPath:
    """The document path of a path inside a deployment, or of its nearest parent that stands in the file."""
    while path and path not in origin:
        path = path[:-1]
    return origin.get(path, ("deployments", deployment))


@record
class LoadedConfig:
    """A whole eaglecfg.yaml. ``engine`` is None where the file does not say properly which one runs.

    ``suppress`` is empty where the schema refuses a part of that list: what is half read accepts nothing.
    """

    document: Document
    engine: Engine | None
    deployments: tuple[LoadedDeployment, ...]
    problems: tuple[SchemaProblem, ...] = field(default=())
    suppress: tuple[Suppression, ...] = ()


@record
class LoadedStudy:
    """A whole study file. ``model`` is None where what the schema refuses leaves no study to speak of.

    ``refused`` holds the document paths that are absent in ``model`` because the schema refused them.
    """

    document: Document
    model: StudyFile | None
    problems: tuple[SchemaProblem, ...] = ()
    refused: frozenset[KeyPath] = frozenset()
