"""Imports a launch and gives back what a test looks at."""

from __future__ import annotations

from typing import Any

from eaglecfg.review.imports.importing import Result, import_text
from eaglecfg.schema.load import load_config
from eaglecfg.schema.loaded import LoadedConfig
from eaglecfg.source.read import parse_document


def imported(text: str, version: str | None = "0.5.14") -> tuple[Result, LoadedConfig]:
    """The result, and the config that its text is; which the schema has nothing against."""
    result = import_text(text, "launch", engine_version=version)
    config = load_config(parse_document(result.text, "eaglecfg.yaml", "."))
    assert config.problems == (), result.text
    assert config.document.problems == (), result.text
    return result, config


def only(text: str, version: str | None = "0.5.14") -> dict[str, Any]:
    """The one deployment that ``text`` launches, as plain data without what the schema fills in."""
    _, config = imported(text, version)
    (one,) = config.deployments
    return plain(one.model)


def plain(model: Any) -> dict[str, Any]:
    """A deployment as plain data, blocks that are not given left out."""
    data: dict[str, Any] = model.model_dump(exclude_unset=True)
    return data


def told(text: str, version: str | None = "0.5.14") -> list[str]:
    """What is told, with TODO in front of what is left to do."""
    return [("TODO " if note.todo else "") + note.text for note in imported(text, version)[0].notes]
