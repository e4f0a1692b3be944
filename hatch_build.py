"""Put schemas/ into a real wheel only: an editable install would get a copy that goes stale."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class SchemasHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds ``schemas/`` as ``eaglecfg/_schemas`` to a standard wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "standard":
            build_data["force_include"]["schemas"] = "eaglecfg/_schemas"
