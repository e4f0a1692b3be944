"""What one launch is asked to do, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

FailureClass = Literal[
    "flag", "import", "oom", "nccl", "cuda", "crash", "hang", "startup", "output", "client", "machine"
]
"""Why a launch gave no numbers. ``client`` and ``machine`` say nothing about the setting; the others do."""


LEAST_CHECKED, MOST_CHECKED, MOST_CHECK_TOKENS = 8, 32, 2048
"""Prompts of a greedy check over whole answers, between the first two: as many as come to so many tokens.
Fewer prompts cannot tell wrong answers from ties."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request's input: token ids, or text that the server tokenises. Exactly one of the two is given."""

    name: str
    input_ids: tuple[int, ...] | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """How one server is started and stopped.

    ``argv`` is launch prefix plus server flags; ``--host 127.0.0.1 --port N`` is appended at launch.
    ``env`` holds additions to the environment that the coordinator was given. ``stop`` is ``group``
    (the supervisor ends the process tree) or a stop command in which ``{cid}``, ``{port}`` and
    ``{marker}`` are filled in; the same placeholders are filled in ``argv``. A stop command means that
    the server may live outside the supervisor's reach.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    stop: Literal["group"] | tuple[str, ...] = "group"
    dialect: str = "sglang"


@dataclass(frozen=True, slots=True)
class MeasurePlan:
    """The load of one launch: per concurrency, warm-up and then ``blocks`` blocks of
    ``requests_per_block`` requests.

    The highest concurrency runs first. ``warmup_requests`` is the least number of requests of a
    warm-up; it goes on until two windows agree, at most ``warmup_limit`` times that. On a fast server the
    requests of a block are sent again, as often as makes it about ``block_seconds`` long, those of a warm-up
    window ``warmup_seconds``: always all of them, so that every setting answers the same prompts.
    At temperature 0 whole answers of measured requests are kept to be compared with other launches'; else
    ``whole_check`` says what is generated for that, one at a time. With ``greedy_check`` 0 nothing is
    compared. ``greedy_tokens`` does nothing any more: it is part of the conditions of older records.
    """

    concurrency: tuple[int, ...]
    blocks: int
    requests_per_block: int
    output_tokens: int
    ignore_eos: bool = True
    temperature: float = 0.0
    seed: int = 0
    warmup_requests: int = 4
    greedy_check: int = 0
    greedy_tokens: int = 32
    warmup_limit: int = 6
    warmup_agreement: float = 0.03
    block_seconds: float = 0.0
    warmup_seconds: float = 0.0

    @property
    def whole_check(self) -> tuple[int, int]:
        """Prompts and tokens of the greedy check where the measured requests give no greedy answers."""
        fit = max(LEAST_CHECKED, MOST_CHECK_TOKENS // max(self.output_tokens, 1))
        return min(MOST_CHECKED, fit), self.output_tokens


@dataclass(frozen=True, slots=True)
class Limits:
    """Times in seconds after which something counts as failed, and other bounds.

    ``startup_s`` runs from the start to the end of the first warm-up. After that a launch hangs when no
    token has arrived for max(``hang_floor_s``, ``hang_steps`` x the median time between arrivals).
    ``broken_s`` is how long a server that is well by its /health may break off every first generation.
    ``client_lag_ms`` is the 99th percentile of the load generator's own delay above which it, not the
    server, was the bottleneck. ``gpu_tolerance_mib`` is how far GPU memory may stay above its level
    before the launch. For ``gpu_wait_s`` a GPU is waited for on which processes of others hold more than
    ``foreign_mib``. ``term_s`` is the time from SIGTERM to SIGKILL: a scheduler of SGLang goes at once,
    while its parent takes that for a crash and sleeps 5 s before it looks into it (0.5.14
    srt/managers/tokenizer_manager.py:2587), so that waiting longer only costs time.
    """

    startup_s: float
    hang_floor_s: float = 15.0
    hang_steps: float = 20.0
    stop_s: float = 20.0
    term_s: float = 2.0
    client_lag_ms: float = 50.0
    gpu_tolerance_mib: float = 64.0
    gpu_wait_s: float = 300.0
    foreign_mib: float = 0.0
    broken_s: float = 10.0


@dataclass(frozen=True, slots=True)
class Block:
    """One timed stretch of load.

    ``seconds``, ``output_tokens`` and ``tokens_per_s`` cover the steady window alone: the time in which
    ``concurrency`` requests were in flight. ``tail_seconds`` is the rest. ``accept_length`` is sum(1 +
    correct drafts) / sum(verify steps) over the block's requests; None where nothing was verified.
    ``step_ms`` is the time per verify step (per decode step without speculation) of one request, median
    over requests. ``per_position[i]`` is the share of verify steps in which more than i drafts were
    accepted. Percentiles are keyed p50, p95, p99, in ms. ``counters`` names what accept_length was
    computed from. ``passes`` are tokens per second of each pass over the block's requests: what differs there
    is the machine, not the prompts.
    """

    concurrency: int
    index: int
    seconds: float
    output_tokens: int
    tokens_per_s: float
    accept_length: float | None
    verify_steps: int | None
    step_ms: float | None
    per_position: tuple[float, ...] | None
    ttft_ms: Mapping[str, float]
    tpot_ms: Mapping[str, float]
    itl_ms: Mapping[str, float]
    requests: int
    failed: int
    client_lag_ms: float
    tail_seconds: float = 0.0
    counters: str = ""
    flushed: bool = False
    passes: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class WarmUp:
    """The warm-up at one concurrency: tokens per second of its windows, and whether the last two agreed."""

    concurrency: int
    windows: tuple[float, ...]
    agreed: bool


@dataclass(frozen=True, slots=True)
class Cleanup:
    """What was left of a launch after its stop. ``proven`` is false where something was left or could not
    be seen."""

    proven: bool
    seconds: float
    leftovers: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class LaunchResult:
    """What came of one launch.

    ``lines`` are the log lines that decided the failure class; ``message`` is one sentence. ``runs`` is
    what the server says it runs, by flag name with underscores. ``pid``, ``started`` (seconds since the
    epoch) and ``marker`` identify the supervisor, ``identity`` its start in clock ticks since boot
    together with the boot id. ``timings`` splits the launch's seconds: startup, warmup, measure, check,
    stop. ``doubtful``: the server was killed, perhaps by somebody outside. ``curtailed`` are concurrencies
    whose last blocks were left out. ``held_back`` is the share of time in which a GPU's clocks were, by
    reason. ``answers`` are greedy ones by load and prompt.
    """

    outcome: Literal["ok", "failed"]
    failure: FailureClass | None
    lines: tuple[str, ...]
    startup_s: float | None
    blocks: tuple[Block, ...]
    server_info: Mapping[str, Any]
    runs: Mapping[str, Any]
    cleanup: Cleanup
    pid: int
    started: float
    marker: str
    folder: str
    message: str = ""
    identity: str = ""
    timings: Mapping[str, float] = field(default_factory=dict)
    warmups: tuple[WarmUp, ...] = ()
    doubtful: bool = False
    curtailed: tuple[int, ...] = ()
    held_back: Mapping[str, float] = field(default_factory=dict)
    answers: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LaunchRecord:
    """What the ledger keeps of a launch that may still run: enough to find its processes and nothing
    else's."""

    pid: int
    identity: str
    marker: str
    folder: str = ""
    stop: Literal["group"] | tuple[str, ...] = "group"
