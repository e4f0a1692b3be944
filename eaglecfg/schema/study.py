"""The models behind a study file."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from eaglecfg.schema.base import FormatVersion, StrictModel
from eaglecfg.schema.core import Field, Tagged
from eaglecfg.schema.suppression import SUPPRESS, Suppression


def _form_of_stop(value: Any) -> str:
    return "<command>" if isinstance(value, list) else "<group>"


StopForm = Annotated[Literal["group"] | list[str], Tagged(_form_of_stop, ("<group>", "<command>"))]


class Launch(StrictModel):
    """How a server is started. The server's own flags follow the prefix."""

    prefix: list[str] = Field(
        description="Command that starts the engine's server; {python} is the Python that runs eaglecfg.",
        text=True,
    )
    stop: StopForm = Field(
        default="group",
        description="group: the supervisor ends the process tree. Or a stop command; {cid} is the launch id.",
        text=True,
    )
    env: dict[str, str] = Field(default={}, description="Environment variables of every launch.", text=True)
    flags: list[str] = Field(
        default=[],
        description="Extra server flags for every launch, passed through unread.",
        text=True,
    )
    startup_s: float = Field(
        default=600.0, description="Start-up limit in seconds until launches have been seen."
    )


class Objective(StrictModel):
    """What counts as better."""

    metric: Literal["output_tokens_per_s"] = Field(
        default="output_tokens_per_s", description="The number to raise."
    )
    concurrency: list[Annotated[int, Field(gt=0)]] = Field(
        default=[1],
        min_length=1,
        description="Requests in flight; the objective is the geometric mean over these of the gain.",
    )
    limits: dict[str, float] = Field(
        default={}, description="Upper limits in ms: ttft_p99_ms, tpot_p99_ms, itl_p99_ms, ..."
    )


class Workload(StrictModel):
    """What is asked of the server."""

    prompts: str = Field(description="JSON Lines file; each line has input_ids, prompt or messages.")
    output_tokens: Annotated[int, Field(gt=0)] = Field(
        default=128, description="Tokens generated per request."
    )
    ignore_eos: bool = Field(default=True, description="Generate output_tokens whatever the model says.")
    temperature: float = Field(default=0.0, description="Sampling temperature.")
    holdout: float = Field(
        default=0.25, description="Share of the prompts kept for the final claim, unseen by the search."
    )


class Budget(StrictModel):
    """When the search ends."""

    launches: Annotated[int, Field(gt=0)] | None = Field(
        default=None, description="Server launches, finals included."
    )
    hours: float | None = Field(default=None, description="Hours from the first launch.")
    until: str | None = Field(default=None, description="Local time of day (07:00).", text=True)


class StudyFile(StrictModel):
    """A whole study file."""

    version: FormatVersion = Field(description="Version of this file format.")
    config: str = Field(description="The eaglecfg.yaml that holds the deployment, relative to this file.")
    deployment: str = Field(description="Name of the deployment to tune.")
    launch: Launch = Field(description="How a server is started and stopped.")
    space: dict[str, Any] = Field(
        description="Deployment key -> list of choices, or {low, high, step, log}. "
        "speculative: [off, {num_steps: [1, 2]}] is one choice per combination; unset leaves a key out."
    )
    objective: Objective = Field(
        default=Objective(), description="What makes one setting better than another."
    )
    workload: Workload = Field(description="What the server is asked for while it is timed.")
    budget: Budget = Field(default=Budget(), description="What ends the search: the first limit reached.")
    profile: Literal["demo", "short", "overnight"] = Field(
        default="short", description="Blocks per launch, rounds of finals, replicates."
    )
    seed: int = Field(default=0, description="Seed of the sampler and of the order of prompts.")
    suppress: list[Suppression] = Field(default=[], description=SUPPRESS)
