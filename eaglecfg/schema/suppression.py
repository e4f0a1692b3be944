"""Findings that are accepted: what a config or a study file says under ``suppress:``."""

from __future__ import annotations

from eaglecfg.schema.base import StrictModel
from eaglecfg.schema.core import Field


class Suppression(StrictModel):
    """One finding that is accepted, and why."""

    rule: str = Field(
        description="Id or slug of the rule whose finding is accepted.",
        text=True,
        examples=["EC218", "default-boundaries"],
    )
    reason: str = Field(
        description="Why the finding is accepted.", text=True, examples=["trained on the default boundaries"]
    )
    deployment: str | None = Field(
        default=None,
        description="The deployment in which it is accepted; absent: in all of the file.",
        text=True,
        examples=["chat"],
    )


SUPPRESS = "Findings that are accepted, each with the reason."
"""Description of the field that lists them."""
