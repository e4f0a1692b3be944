"""A config file as loaded: typed deployments, and the way back from each setting to its place in the text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from eaglecfg.schema.deployment import Deployment, Engine
from eaglecfg.source.document import Document
from eaglecfg.source.span import KeyPath


@dataclass(frozen=True, slots=True)
class SchemaProblem:
    """A key or value that the schema refuses. ``kind``: ``unknown-key``, ``wrong-type``, ``missing-key``, ...

    ``path`` is in document terms; ``at_key`` asks for the key's span rather than the value's. ``deployment`` is None
    for a problem outside every deployment. ``help`` names the nearest known key or the accepted form.
    """

    kind: str
    path: KeyPath
    message: str
    help: str = ""
    at_key: bool = False
    deployment: str | None = None


@dataclass(frozen=True, slots=True)
class LoadedDeployment:
    """One deployment with ``defaults:`` merged in.

    ``model`` holds what the schema accepted; a refused key is absent there, and its path inside the deployment
    (``("parallel", "tp_size")``) is in ``refused``. ``origin`` maps a path inside the deployment to its path in the
    document, which lies under ``defaults`` or under ``deployments.<name>``.
    """

    name: str
    model: Deployment
    origin: Mapping[KeyPath, KeyPath]
    refused: frozenset[KeyPath] = frozenset()

    def document_path(self, path: KeyPath) -> KeyPath:
        """The document path of ``path``, or of its nearest parent that stands in the file."""
        while path and path not in self.origin:
            path = path[:-1]
        return self.origin.get(path, ("deployments", self.name))


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """A whole eaglecfg.yaml. ``engine`` is None when the file does not say which engine runs, or says it wrongly."""

    document: Document
    engine: Engine | None
    deployments: tuple[LoadedDeployment, ...]
    problems: tuple[SchemaProblem, ...] = field(default=())
