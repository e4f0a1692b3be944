"""The training record that stands beside a draft: ``eaglecfg-training.json``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eaglecfg.schema.accept import accept
from eaglecfg.schema.base import StrictModel
from eaglecfg.schema.core import Field
from eaglecfg.schema.wording import sentence_of


class TrainingRecord(StrictModel, extra="allow"):
    """What a trainer knows about a draft and no other file tells. Unknown keys are fine."""

    version: int = Field(description="Version of this record format; 1.", examples=[1])
    boundaries: tuple[int, ...] = Field(
        description="Boundaries captured in training, in the order of fc's column blocks.",
        examples=[[3, 31, 59]],
    )
    ttt_steps: int | None = Field(default=None, description="Steps of training-time test.", examples=[7])
    target_sha256: str | None = Field(
        default=None,
        description="SHA-256 of the target's weight file that it was trained on; compared with --deep.",
        examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
    )


def read_training(raw: Mapping[str, Any]) -> tuple[TrainingRecord | None, str]:
    """The record, or None and one sentence saying what is wrong with it."""
    accepted = accept(TrainingRecord, dict(raw))
    if not accepted.refusals:
        return accepted.model, ""
    return None, sentence_of(accepted.refusals[0], "the record")
