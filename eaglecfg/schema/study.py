"""The models behind a study file."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from eaglecfg.schema.base import FormatVersion, StrictModel
from eaglecfg.schema.core import Field, Tagged
from eaglecfg.schema.suppression import SUPPRESS, Suppression


def _form_of_stop(value: Any) -> str:
    return "<command>" if isinstance(value, list) else "<group>"


StopForm = Annotated[Literal["group"] | list[str], Tagged(_form_of_stop, ("<group>", "<command>"))]

DAY_S = 86_400
"""No start of a server takes longer, and no clock counts in infinities."""


class Launch(StrictModel):
    """How a server is started. The server's own flags follow the prefix."""

    prefix: list[str] = Field(
        description="Command that starts the engine's server; {python} is the Python that runs eaglecfg.",
        text=True,
        examples=[["python3", "-m", "sglang.launch_server"], ["{python}", "-m", "eaglecfg.reference.serve"]],
    )
    stop: StopForm = Field(
        default="group",
        description="group: the supervisor ends the process tree. Or a stop command; {cid} is the launch id.",
        text=True,
        examples=["group", ["docker", "stop", "{cid}"]],
    )
    env: dict[str, str] = Field(
        default={},
        description="Environment variables around every launch; those of the deployment and the space win.",
        text=True,
        examples=[{"CUDA_VISIBLE_DEVICES": "0,1"}],
    )
    flags: list[str] = Field(
        default=[],
        description="Extra server flags for every launch, behind the deployment's; none that is searched.",
        text=True,
        examples=[["--log-level", "warning"]],
    )
    startup_s: Annotated[float, Field(gt=0, le=DAY_S)] = Field(
        default=600.0, description="Start-up limit in seconds until launches have been seen.", examples=[900]
    )
    start_s: Annotated[float, Field(gt=0, le=DAY_S)] | None = Field(
        default=None,
        description="Seconds that a start is expected to take: for the time plan, until launches were seen.",
        examples=[150],
    )
    fill_caches: bool = Field(
        default=True,
        description="Launch the baseline once more, not compared, the first time that the server is launched "
        "so since the machine was started: it compiles kernels and reads files for the others.",
        examples=[False],
    )
    foreign_gpu_mib: Annotated[float, Field(gt=0)] | None = Field(
        default=None,
        description="GPU memory in MiB that programs of others may hold on a GPU when a server is launched; "
        "a GPU on which they hold more is waited for.",
        examples=[512],
    )


class Objective(StrictModel):
    """What counts as better."""

    metric: Literal["output_tokens_per_s"] = Field(
        default="output_tokens_per_s", description="The number to raise.", examples=["output_tokens_per_s"]
    )
    concurrency: list[Annotated[int, Field(gt=0)]] = Field(
        default=[1],
        min_length=1,
        description="Requests in flight; the objective is the geometric mean over these of the gain.",
        examples=[[1, 8]],
    )
    limits: dict[str, float] = Field(
        default={},
        description="Upper limits in ms: ttft_p99_ms, tpot_p99_ms, itl_p99_ms, ...",
        examples=[{"ttft_p99_ms": 500}],
    )


class RandomPrompts(StrictModel):
    """Prompts of random tokens."""

    count: Annotated[int, Field(gt=0)] = Field(description="Number of prompts.", examples=[64])
    input_tokens: Annotated[int, Field(gt=0)] = Field(description="Tokens of each prompt.", examples=[512])
    seed: int = Field(default=0, description="The same seed gives the same prompts.", examples=[0])


class Workload(StrictModel):
    """What is asked of the server: the prompts of a file, or random ones."""

    prompts: str | None = Field(
        default=None,
        description="JSON Lines file; each line has input_ids, prompt or messages.",
        examples=["prompts.jsonl"],
    )
    random: RandomPrompts | None = Field(
        default=None,
        description="Instead of a file: random tokens of the target's vocabulary. Drafts are hardly ever "
        "right about them, so that they suit step_cost and NCCL.",
        examples=[{"count": 64, "input_tokens": 512}],
    )
    output_tokens: Annotated[int, Field(gt=0)] = Field(
        default=128, description="Tokens generated per request.", examples=[128]
    )
    ignore_eos: bool = Field(
        default=True, description="Generate output_tokens whatever the model says.", examples=[True]
    )
    temperature: float = Field(default=0.0, description="Sampling temperature.", examples=[0.0])
    holdout: float = Field(
        default=0.25,
        description="Share of the prompts kept for the final claim, unseen by the search.",
        examples=[0.25],
    )


class StepCost(StrictModel):
    """Measuring what a step costs, without weights."""

    accept_length: Annotated[float, Field(gt=0)] = Field(
        description="Tokens a verify step that the engine simulates; more than num_steps + 1 counts as that.",
        examples=[2.5],
    )


class Budget(StrictModel):
    """When the search ends."""

    launches: Annotated[int, Field(gt=0)] | None = Field(
        default=None,
        description="Server launches, rounds included: no round begins that it does not pay for. What the "
        "machine spoils or drifts away from is launched again at no cost to it.",
        examples=[120],
    )
    hours: float | None = Field(default=None, description="Hours from the first launch.", examples=[9])
    until: str | None = Field(
        default=None, description="Local time of day (07:00).", text=True, examples=["07:00"]
    )
    launches_each: Annotated[int, Field(gt=0)] | None = Field(
        default=None,
        description="Launch every setting so many times, in rounds: nothing is sampled, and no setting is "
        "left out of the rounds.",
        examples=[3],
    )


class StudyFile(StrictModel):
    """A whole study file."""

    version: FormatVersion = Field(description="Version of this file format.", examples=[1])
    config: str = Field(
        description="The eaglecfg.yaml that holds the deployment, relative to this file.",
        examples=["../eaglecfg.yaml"],
    )
    deployment: str = Field(description="Name of the deployment to tune.", examples=["chat"])
    launch: Launch = Field(
        description="How a server is started and stopped.",
        examples=[{"prefix": ["python3", "-m", "sglang.launch_server"]}],
    )
    space: dict[str, Any] = Field(
        description="Deployment key -> list of choices, or {low, high, step, log}. "
        "speculative: [off, {num_steps: [1, 2]}] is one choice per combination; unset leaves a key or a "
        "whole block out, while a block is laid over the deployment's own ({} is that as it is). "
        "nccl: [unset, {proto: LL}, {nthreads: [64, 128]}] are single settings, which add up where the keys "
        "nccl.proto and nccl.nthreads would multiply.",
        examples=[{"speculative": ["off", {"num_steps": [1, 2, 3]}], "nccl.proto": ["unset", "LL"]}],
    )
    objective: Objective = Field(
        default=Objective(),
        description="What makes one setting better than another.",
        examples=[{"metric": "output_tokens_per_s", "concurrency": [1, 8]}],
    )
    workload: Workload = Field(
        description="What the server is asked for while it is timed.", examples=[{"prompts": "prompts.jsonl"}]
    )
    step_cost: StepCost | None = Field(
        default=None,
        description="Measure step cost alone: weights are made up, acceptance is simulated, answers are not "
        "checked. For NCCL and server keys; no shape of speculation is chosen from it.",
        examples=[{"accept_length": 2.5}],
    )
    baselines: list[Literal["as_it_stands", "off"]] = Field(
        default=["as_it_stands", "off"],
        min_length=1,
        description="What is launched beside the space, to compare with: the deployment as it stands, and "
        "the same without speculation. One that is not named is left out, unless the space has it.",
        examples=[["as_it_stands"]],
    )
    budget: Budget = Field(
        default=Budget(),
        description="What ends the search: the first limit reached.",
        examples=[{"launches": 48}],
    )
    profile: Literal["demo", "short", "overnight"] = Field(
        default="short", description="Blocks per launch, rounds of finals, replicates.", examples=["short"]
    )
    seed: int = Field(default=0, description="Seed of the sampler and of the order of prompts.", examples=[0])
    suppress: list[Suppression] = Field(
        default=[],
        description=SUPPRESS,
        examples=[[{"rule": "EC218", "reason": "trained on the default boundaries"}]],
    )
