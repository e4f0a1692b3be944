"""The models behind a study file."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from eaglecfg.schema.base import TEXT, StrictModel


class Launch(StrictModel):
    """How a server is started. The server's own flags follow the prefix."""

    prefix: list[str] = Field(
        description="Command that starts the engine's server; {python} is the Python that runs eaglecfg."
    )
    stop: Literal["group"] | list[str] = Field(
        "group", description="group: the supervisor ends the process tree. Or a stop command; {cid} is the launch id."
    )
    env: dict[str, str] = Field(
        {}, description="Environment variables of every launch.", json_schema_extra=TEXT
    )
    flags: list[str] = Field([], description="Extra server flags for every launch, passed through unread.")
    startup_s: float = Field(600.0, description="Start-up limit in seconds until launches have been seen.")


class Range(StrictModel):
    """A range of whole or real numbers for one key of the space."""

    low: int | float = Field(description="Smallest value.")
    high: int | float = Field(description="Largest value, inclusive.")
    step: int | float | None = Field(None, description="Distance between values.")
    log: bool = Field(False, description="Search on a logarithmic scale.")


class Objective(StrictModel):
    """What counts as better."""

    metric: Literal["output_tokens_per_s"] = Field("output_tokens_per_s", description="The number to raise.")
    concurrency: list[Annotated[int, Field(gt=0)]] = Field(
        [1], description="Requests in flight; the objective is the geometric mean over these of the gain."
    )
    limits: dict[str, float] = Field({}, description="Upper limits in ms: ttft_p99_ms, tpot_p99_ms, itl_p99_ms, ...")


class Workload(StrictModel):
    """What is asked of the server."""

    prompts: str = Field(description="JSON Lines file; each line has input_ids, prompt or messages.")
    output_tokens: Annotated[int, Field(gt=0)] = Field(128, description="Tokens generated per request.")
    ignore_eos: bool = Field(True, description="Generate output_tokens whatever the model says.")
    temperature: float = Field(0.0, description="Sampling temperature.")
    holdout: float = Field(0.25, description="Share of the prompts kept for the claim, never used in the search.")


class Budget(StrictModel):
    """When the search ends."""

    launches: Annotated[int, Field(gt=0)] | None = Field(None, description="Server launches, finals included.")
    hours: float | None = Field(None, description="Hours from the first launch.")
    until: str | None = Field(None, description="Local time of day (07:00).", json_schema_extra=TEXT)


class StudyFile(StrictModel):
    """A whole study file."""

    version: Literal[1] = Field(description="Version of this file format.")
    config: str = Field(description="The eaglecfg.yaml that holds the deployment, relative to this file.")
    deployment: str = Field(description="Name of the deployment to tune.")
    launch: Launch
    space: dict[str, Any] = Field(
        description="Deployment key -> list of choices, or {low, high, step, log}. "
        "speculative: [off, {num_steps: [1, 2, 3]}] expands to one choice per combination; unset leaves a key out."
    )
    objective: Objective = Field(Objective(), description="What counts as better.")
    workload: Workload
    budget: Budget = Field(Budget(), description="When the search ends.")
    profile: Literal["demo", "short", "overnight"] = Field(
        "short", description="Blocks per launch, rounds of finals, replicates."
    )
    seed: int = Field(0, description="Seed of the sampler and of the order of prompts.")
