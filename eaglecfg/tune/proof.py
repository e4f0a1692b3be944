"""The proof that NCCL settings acted: launches with NCCL's log on, after a study, never timed."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from eaglecfg.nccl.log.compare import spelled as spelled_choice
from eaglecfg.nccl.log.facts import log_facts
from eaglecfg.nccl.log.judge import Asked, judge
from eaglecfg.nccl.log.model import NcclLog
from eaglecfg.nccl.log.summary import read_log
from eaglecfg.record import replace as replace_record
from eaglecfg.rules.study.surroundings import surrounded
from eaglecfg.tune.arm import Arm, spelled
from eaglecfg.tune.history import History
from eaglecfg.tune.interrupts import Interrupts
from eaglecfg.tune.judge import described
from eaglecfg.tune.launch import run_launch
from eaglecfg.tune.ledger import Event
from eaglecfg.tune.opened import Opened
from eaglecfg.tune.orphans import LOG, end_orphans
from eaglecfg.tune.placement import gpus_of
from eaglecfg.tune.quarantine import kept_of
from eaglecfg.tune.ranking import arm_of
from eaglecfg.tune.results import Results
from eaglecfg.tune.server_command import server_command
from eaglecfg.tune.trial import LaunchRecord, LaunchResult, Limits, MeasurePlan, ServerCommand

TOKENS = 16
"""Output tokens of a request: every collective is named when its graph is captured or first runs."""
MOST_CHOICES = 200
"""Kept in the ledger of one proof."""
RUNNING, DONE = "proof_running", "proof"
"""Kinds of the ledger: a proof's server was started; what its log says."""
FOLDER = "proofs"


class Write(Protocol):
    """Appends an event to the study's ledger."""

    def __call__(self, kind: str, **data: Any) -> None: ...


@dataclass(frozen=True, slots=True)
class Wanted:
    """An arm to prove. ``role``: ``setting`` or ``baseline``."""

    arm: Arm
    role: str


def wanted(opened: Opened, history: History, results: Results, *, again: bool = False) -> tuple[Wanted, ...]:
    """The arms whose NCCL settings want a proof: the winner if it changes any, without a winner the fastest
    setting that does; and the baseline, to tell whether the settings changed what NCCL chose. Those with a
    proof already are left out, ``again``: unless it failed."""
    baseline = opened.design.baseline
    setting = results.winner if results.winner is not None else _fastest(opened, history, results)
    if setting is None or not nccl_keys(setting):
        return ()
    arms = [Wanted(setting, "setting")]
    if baseline is not None and baseline.key != setting.key:
        arms.append(Wanted(baseline, "baseline"))
    return tuple(one for one in arms if _open(history.proofs.get(one.arm.key), again=again))


def _open(proof: Mapping[str, Any] | None, *, again: bool) -> bool:
    return proof is None or (again and bool(proof["failure"]))


def nccl_keys(arm: Arm) -> tuple[str, ...]:
    """The keys of NCCL's that the arm changes."""
    out = []
    for key in arm.changed:
        section, *name = spelled(key)
        if section == "nccl" or (section == "env" and name and name[0].startswith("NCCL_")):
            out.append(key)
    return tuple(out)


def _fastest(opened: Opened, history: History, results: Results) -> Arm | None:
    """Rows come fastest first."""
    arms = (arm_of(opened.design, history, row.arm) for row in results.rows if row.launches)
    return next((arm for arm in arms if arm is not None and nccl_keys(arm)), None)


def prove(
    opened: Opened,
    arms: Sequence[Wanted],
    write: Write,
    interrupts: Interrupts,
    tell: Callable[[str, Mapping[str, Any]], None],
    limits: Mapping[str, Limits],
    leftovers: Callable[[str, Sequence[str]], None] = lambda name, left: None,
) -> None:
    """Launch each arm once with NCCL's log on, and write to the ledger what that says. ``leftovers`` hears
    what a launch left behind.

    Raises KeyboardInterrupt once the server is stopped, as a measured launch does; the proof is then made
    when the study goes on. ``limits`` by arm.
    """
    for one in arms:
        text = f"one launch more with NCCL's log on, not timed: {one.arm.label}"
        tell("note", {"text": text})
        token = secrets.token_hex(6)
        folder = opened.folder / FOLDER / f"{one.arm.key}-{token}"
        command = logged(server_command(opened, one.arm.deployment))
        begun = time.time()
        try:
            result = _launch(opened, one, command, folder, token, write, interrupts, limits[one.arm.key])
        except (KeyboardInterrupt, asyncio.CancelledError):
            if not interrupts.name:
                raise
            raise KeyboardInterrupt(interrupts.name) from None
        write(DONE, **_record(opened, one, folder, result, time.time() - begun))
        leftovers(f"the proof launch of {one.arm.label}", result.cleanup.leftovers)
        interrupts.end_hold()


def logged(command: ServerCommand) -> ServerCommand:
    """The command with NCCL's log on, on the server's own output: a log of the user's would not be found."""
    subsystems = ",".join(log_facts()["proof_subsystems"])
    log = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": subsystems, "NCCL_DEBUG_FILE": ""}
    return replace(command, env={**command.env, **log})


def short_plan(plan: MeasurePlan) -> MeasurePlan:
    """A few requests, one at a time where the study has that concurrency."""
    return replace(
        plan,
        concurrency=(min(plan.concurrency),),
        blocks=1,
        requests_per_block=1,
        output_tokens=min(plan.output_tokens, TOKENS),
        warmup_requests=1,
        warmup_limit=1,
        greedy_check=0,
        block_seconds=0.0,
        warmup_seconds=0.0,
    )


def _launch(
    opened: Opened,
    one: Wanted,
    command: ServerCommand,
    folder: Path,
    token: str,
    write: Write,
    interrupts: Interrupts,
    limits: Limits,
) -> LaunchResult:
    def progress(kind: str, data: Mapping[str, Any]) -> None:
        if kind == "started":
            write(RUNNING, arm=one.arm.key, **kept_of(command.stop, data))
        elif kind == "stopping":
            interrupts.begin_hold()

    return run_launch(
        command,
        short_plan(opened.plan),
        opened.search_prompts[:1],
        folder,
        limits,
        marker=f"{opened.name}-proof-{token}",
        progress=progress,
        environment=opened.environ or None,
        gpus=gpus_of(command, opened.facts, opened.environ),
    )


def _record(
    opened: Opened, one: Wanted, folder: Path, result: LaunchResult, seconds: float
) -> dict[str, Any]:
    log = read_server_log(folder / LOG)
    verdicts = judge(_asked(opened, one.arm), log)
    choices = [
        [choice.function, choice.bytes, choice.ranks, spelled_choice(choice), choice.count]
        for choice in log.choices[:MOST_CHOICES]
    ]
    return {
        "arm": described(one.arm),
        "role": one.role,
        "conditions": opened.conditions,
        "marker": result.marker,
        "folder": str(folder),
        "failure": result.failure or "",
        "message": result.message,
        "seconds": round(seconds, 3),
        "cleanup": asdict(result.cleanup),
        "nccl_versions": list(log.versions),
        "messages": log.messages,
        "settings": [{**asdict(verdict), "failed": verdict.failed} for verdict in verdicts],
        "choices": choices,
        "disagreements": [one.text for one in log.disagreements],
    }


def read_server_log(path: Path) -> NcclLog:
    """What NCCL wrote into a server's log; an empty report where there is none."""
    subsystems = log_facts()["proof_subsystems"]
    try:
        stream = path.open("rb")
    except FileNotFoundError:
        return read_log(())
    with stream:
        log = read_log([(path.name, stream)])
    # Asking for subsystems shows nothing where NCCL wrote nothing at all.
    return replace(log, subsystems=log.subsystems | frozenset(subsystems)) if log.messages else log


def _asked(opened: Opened, arm: Arm) -> tuple[Asked, ...]:
    from eaglecfg.rules.context import Checkpoints, deployment_context
    from eaglecfg.rules.nccl.asked import asked_settings

    whole = surrounded(arm.deployment, opened.study.launch.env)
    deployment = replace_record(opened.deployment, model=whole)
    context = deployment_context(opened.config, deployment, Checkpoints())
    return asked_settings(context)


def end_open_proofs(
    events: Iterable[Event], write: Write, tell: Callable[[str, Mapping[str, Any]], None]
) -> None:
    """End the servers of proofs that a killed coordinator left, and close them in the ledger."""
    left: dict[str, Mapping[str, Any]] = {}
    for event in events:
        if event.kind == RUNNING:
            left[event.data["marker"]] = event.data
        elif event.kind in (DONE, "proof_orphan"):
            left.pop(event.data["marker"], None)
    for marker, data in left.items():
        stop = data["stop"]
        record = LaunchRecord(
            data["pid"],
            data["identity"],
            marker,
            data["folder"],
            stop if stop == "group" else tuple(stop),
        )
        cleanup = end_orphans([record])[marker]
        note = cleanup.note or "nothing of it was running any more"
        write("proof_orphan", marker=marker, proven=cleanup.proven, note=note)
        if not cleanup.proven:
            tell("note", {"text": f"the server of a proof launch may still run: {note}"})
