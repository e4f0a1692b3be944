"""The training record that stands beside a draft: ``eaglecfg-training.json``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict, Field, ValidationError

from eaglecfg.schema.base import StrictModel


class TrainingRecord(StrictModel):
    """What a trainer knows about a draft and no other file tells. Unknown keys are fine."""

    model_config = ConfigDict(strict=False, extra="allow", frozen=True)

    version: int = Field(description="Version of this record format; 1.")
    boundaries: tuple[int, ...] = Field(
        description="Boundaries captured in training, in the order of fc's column blocks."
    )
    ttt_steps: int | None = Field(default=None, description="Steps of training-time test.")
    target_sha256: str | None = Field(
        default=None, description="SHA-256 of the target's weight file that it was trained on."
    )


def read_training(raw: Mapping[str, Any]) -> tuple[TrainingRecord | None, str]:
    """The record, or None and one sentence saying what is wrong with it."""
    try:
        return TrainingRecord.model_validate(dict(raw)), ""
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "the record"
        return None, f"{key}: {first['msg'].lower()}"
