"""The base of every model that a user's file fills."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError


class StrictModel(BaseModel):
    """Frozen, strict about types, and refuses unknown keys."""

    # Built on first use: what is only a part of another model is then never built for itself.
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)


TEXT: JsonDict = {"x-source-text": True}
"""json_schema_extra of a field that takes the scalar's spelling in the source (``2.30`` stays ``2.30``)."""


def _exactly_one(value: Any) -> Any:
    # To a Literal, true and 1.0 are as good as 1.
    if type(value) is not int or value != 1:
        raise PydanticCustomError("literal_error", "expected {expected}", {"expected": "1"})
    return value


FormatVersion = Annotated[Literal[1], BeforeValidator(_exactly_one)]
"""The version of a file format; there is one so far."""
