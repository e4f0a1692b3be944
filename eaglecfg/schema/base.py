"""The base of every model that a user's file fills."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


class StrictModel(BaseModel):
    """Frozen, strict about types, and refuses unknown keys."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


TEXT = {"x-source-text": True}
"""json_schema_extra of a field that takes the scalar's spelling in the source (``2.30`` stays ``2.30``)."""


def drop_marks(schema: dict[str, Any]) -> None:
    """Remove our own marks from an exported JSON Schema."""
    schema.pop("x-source-text", None)
