"""Where the shipped data lies: ``schemas/`` beside the package in a checkout, ``eaglecfg/_schemas`` in a
wheel."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).resolve().parent


@cache
def schema_root() -> Path:
    """The folder of schemas and facts. The checkout's own folder wins, so that an editable install never goes
    stale."""
    sibling = _PACKAGE.parent / "schemas"
    # Another project's ``schemas`` beside an installed package must not be taken for ours.
    return sibling if (sibling / "engines" / "sglang" / "versions.json").is_file() else _PACKAGE / "_schemas"


def read_schema(*parts: str) -> Any:
    """The parsed JSON file at ``parts`` below the schema folder. Raises OSError where it is missing."""
    return json.loads(schema_root().joinpath(*parts).read_bytes())
