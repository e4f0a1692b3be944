"""The loop of a study: ask the schedule, launch, write the ledger, until nothing is left to launch."""

from __future__ import annotations

import asyncio
import math
import os
import platform
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from eaglecfg import __version__
from eaglecfg.tune.answers import Reference as AnswersReference
from eaglecfg.tune.answers import recorded_answers
from eaglecfg.tune.belongs import file_of, refuse_record_of_another
from eaglecfg.tune.cold import cold, first_s, to_fill, warming
from eaglecfg.tune.deadline import Deadline, launch_seconds
from eaglecfg.tune.drift import Move, find_move
from eaglecfg.tune.futility import Reference, pointless, reference_for
from eaglecfg.tune.gpu import Gpu
from eaglecfg.tune.history import ROUND, History
from eaglecfg.tune.interrupts import Interrupts
from eaglecfg.tune.judge import described, ended
from eaglecfg.tune.launch import run_launch
from eaglecfg.tune.leases import LEASES, VARIABLE, Leases, NotHeld
from eaglecfg.tune.ledger import Ledger
from eaglecfg.tune.look_around import look_around
from eaglecfg.tune.machine_check import finite, make_check, next_check
from eaglecfg.tune.opened import STUDIES, Opened, changed
from eaglecfg.tune.placement import gpus_of
from eaglecfg.tune.process import identity_of
from eaglecfg.tune.proof import RUNNING, end_open_proofs, prove, wanted
from eaglecfg.tune.quarantine import CLEARED, diagnosis, end_left, kept_of, open_quarantines
from eaglecfg.tune.quarantine import KIND as QUARANTINE
from eaglecfg.tune.ranking import finalists
from eaglecfg.tune.results import make_results
from eaglecfg.tune.schedule import Finished, Rejected, Step, Wanted, next_step
from eaglecfg.tune.server_command import server_command
from eaglecfg.tune.surroundings import ACTING, place_changes, recorded, variable_changes
from eaglecfg.tune.tables import write_results
from eaglecfg.tune.trial import Cleanup, LaunchResult, Limits, Prompt, ServerCommand

Tell = Callable[[str, Mapping[str, Any]], None]
"""Hears what happens: ``note``, ``orphan``, ``rejected``, ``finalists``, ``launch``, ``progress``,
``ended``."""

LEARNED_STARTUP = 1.5
"""The start-up limit is this many times the longest start-up and warm-up seen, once two were seen."""

LEAST_STARTUP_S = 30.0
"""No start-up limit is learned below this: the first launch after a pause reads its weights from disk
again."""


STARTS = ("running", RUNNING)
"""Events of the ledger that tell of a server's start."""

KEPT = ("pid", "identity", "marker", "started", "folder", "port", "gpu_mib", "stop")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run of a study ended. ``finished`` is why, in words; ``broken`` where the study gave up."""

    history: History
    finished: str
    broken: bool = False


class StudyRun:
    """One session of a study, from opening its ledger to the end, to an interrupt or to a failure."""

    def __init__(
        self,
        opened: Opened,
        ledger: Ledger,
        interrupts: Interrupts,
        tell: Tell,
        *,
        retry_failed: bool = False,
        proof: bool = True,
        check: int = 0,
    ) -> None:
        """``check``: not the study is run, but a machine check of so many launches. ``retry_failed``:
        settings that failed get their launches again, and the ledger says so. ``proof``: launch what changes
        NCCL's settings once more at the end, with NCCL's log on."""
        self.opened, self.ledger, self.interrupts, self.tell = opened, ledger, interrupts, tell
        self.retry_failed, self.proof, self.check = retry_failed, proof, check
        self.reference = AnswersReference()
        self.unleased = False
        self.place, self.driver = look_around(opened)
        self.stuck = ""
        self.leases = Leases(opened.name, Path(opened.environ.get(VARIABLE) or LEASES))
        self.deadline = Deadline(opened.study.budget, time.time(), opened.assumed_launch_s)

    @property
    def history(self) -> History:
        """The ledger as it is now."""
        return self.opened.history(self.ledger.events, self.place)

    def run(self) -> Outcome:
        """Launch until the schedule says that it is done. Raises KeyboardInterrupt once all is stopped, and
        UsageError where the record is another study's, or where another one has leased a GPU that this one
        would use."""
        refuse_record_of_another(self.opened, self.ledger.events)
        try:
            with self.leases:
                return self._loop()
        except KeyboardInterrupt:
            if self.ledger.events[-1].kind != "interrupted":
                with self.interrupts.hold():
                    self.ledger.append("interrupted", time.time(), signal=self.interrupts.name)
            raise

    def _loop(self) -> Outcome:
        keep_out_of_git(self.opened.folder)
        if self.ledger.note:
            self.tell("note", {"text": self.ledger.note})
        for arm in (*self.opened.design.baselines, *self.opened.design.arms):
            self._lease(server_command(self.opened, arm.deployment))
        self._look_at_quarantine()
        self._end_orphans()
        self._recall_answers()
        self._say_what_changed()
        self._forgive()
        self._write("session", **self._session())
        since = self.history.last_number
        chosen: tuple[str, ...] = ()
        while True:
            history = self.history
            if self.stuck:
                return self._finish(history, Finished(self.stuck, broken=True))
            if self.check:
                step = next_check(self.opened.design, history, self.check, since)
                if not isinstance(step, Wanted):
                    return self._checked(history, step)
                self._launch(self._warm_first(step, history), history)
                continue
            if move := find_move(self.opened.design, history):
                self._drift(move)
                continue
            over = self.deadline.search_over(self.opened.design, history, time.time())
            step = next_step(self.opened.design, history, search_over=over, since=since)
            if isinstance(step, Finished):
                return self._finish(history, step)
            if isinstance(step, Rejected):
                self._reject(step)
                continue
            each = launch_seconds(history, self.opened.assumed_launch_s)
            before_s = first_s(self.opened, history, each)
            stop = self.deadline.stop(self.opened.design, history, time.time(), step, before_s)
            if stop:
                return self._finish(history, Finished(stop))
            if step.phase == ROUND and self.opened.design.mode != "rounds":
                failed = history.condemned()
                arms = finalists(self.opened.design, history)
                names = tuple(arm.label for arm in arms if arm.key not in failed)
                if names != chosen:
                    chosen = names
                    self.tell("finalists", {"labels": names})
            self._launch(self._warm_first(step, history), history)

    def _warm_first(self, step: Wanted, history: History) -> Wanted:
        """``step``, or a launch that fills the caches for it."""
        return warming(self.opened.design, history, step) if to_fill(self.opened, history) else step

    def _finish(self, history: History, end: Finished) -> Outcome:
        if self.proof and not end.broken:
            self._prove(history)
            history = self.history
        self._write("finished", why=end.why, broken=end.broken)
        self._save(history, end.why)
        return Outcome(history, end.why, end.broken)

    def _checked(self, history: History, end: Step) -> Outcome:
        """The end of a machine check, with what it found."""
        assert isinstance(end, Finished)
        found = make_check(self.opened.design, history)
        kept = finite(asdict(found)) if found is not None else None
        self._write("checked", why=end.why, broken=end.broken, found=kept)
        return Outcome(history, end.why, end.broken)

    def _prove(self, history: History) -> None:
        """Launch once more, untimed, what shows whether NCCL settings acted, as far as there is time."""
        opened, given = self.opened, self.opened.study.launch.startup_s
        results = make_results(opened.design, history, "")
        arms = wanted(opened, history, results, again=self.retry_failed)
        left = self.deadline.left_s(history, time.time())
        if arms and left is not None and left < launch_seconds(history, opened.assumed_launch_s) * len(arms):
            self.tell("note", {"text": "no time is left to show whether the NCCL settings acted"})
            return
        limits = {one.arm.key: startup_limits(given, one.arm.key, history) for one in arms}
        prove(opened, arms, self._write, self.interrupts, self.tell, limits, self._leftovers)

    # -- the ledger --------------------------------------------------------------------------------

    def _write(self, kind: str, **data: Any) -> None:
        with self.interrupts.hold():
            self.ledger.append(kind, time.time(), **data)

    def _session(self) -> dict[str, Any]:
        design = self.opened.design
        versions = {"eaglecfg": __version__, "python": platform.python_version()}
        for package in ("optuna", "scipy", "aiohttp"):
            try:
                versions[package] = metadata.version(package)
            except metadata.PackageNotFoundError:
                continue
        return {
            "study": self.opened.name,
            "file": file_of(self.opened),
            "conditions": self.opened.conditions,
            "described": dict(self.opened.described),
            "space": self.opened.study.space,
            "mode": design.mode,
            "baseline": design.baseline.key if design.baseline else None,
            "startup_s": self.opened.study.launch.startup_s,
            "budget": self.opened.study.budget.model_dump(),
            "profile": design.profile.name,
            "seed": design.seed,
            "versions": versions,
            "host": platform.node(),
            "pid": os.getpid(),
            "identity": identity_of(os.getpid()),
            "check": self.check,
            "place": self.place,
            "driver": self.driver,
            "environment": recorded(self.opened.environ),
        }

    def _say_what_changed(self) -> None:
        """Launches under other conditions stay in the record but do not count: say which key did that."""
        sessions = self.ledger.of_kind("session")
        if not sessions:
            return
        last = sessions[-1].data
        before, now = last["described"], self.opened.described
        keys = changed(before, now)
        if last["conditions"] == self.opened.conditions:
            keys = []
        place = last.get("place")
        if place is not None and place != self.place:
            keys += place_changes(place, self.place)
        if keys:
            self.tell("note", {"text": f"earlier launches are set aside: {', '.join(keys)} changed since"})
        told = variable_changes(last.get("environment", {}), recorded(self.opened.environ))
        told = [text for text in told if "environment" in last and not text.startswith(ACTING)]
        if last.get("driver", self.driver) != self.driver:
            told.insert(0, f"NVIDIA's driver ({last['driver'] or 'none'}, now {self.driver or 'none'})")
        if told:
            text = f"changed since the last session, while earlier launches count: {', '.join(told)}"
            self.tell("note", {"text": text})

    def _forgive(self) -> None:
        """Failures whose cause may be gone: all where the user says so, those of a start-up limit that is
        higher now. What else of the launch may have changed makes other conditions, under which nothing has
        failed yet."""
        history = self.history
        failed = (replace(history, launches=history.checks) if self.check else history).condemned()
        why = "--retry-failed"
        if not self.retry_failed:
            sessions = self.ledger.of_kind("session")
            now = self.opened.study.launch.startup_s
            before = sessions[-1].data.get("startup_s", now) if sessions else now
            failed = {key: item for key, item in failed.items() if item.failure == "startup" and before < now}
            why = f"launch.startup_s was {before:g} s, is {now:g} s"
        if failed:
            labels = [str(history.arms[key]["label"]) for key in failed]
            self._write("retry", arms=list(failed), why=why, conditions=self.opened.conditions)
            self.tell("note", {"text": f"failed before, launched again: {'; '.join(labels)} ({why})"})

    def _reject(self, step: Rejected) -> None:
        self._write(
            "rejected",
            arm=described(step.arm),
            findings=list(step.findings),
            conditions=self.opened.conditions,
        )
        self.tell("rejected", {"label": step.arm.label, "findings": step.findings})

    def _drift(self, move: Move) -> None:
        """What was measured while the machine's speed moved is set aside, to be measured again."""
        self._write(
            "drift",
            change=move.change,
            since=list(move.since),
            aside=list(move.aside),
            conditions=self.opened.conditions,
        )
        again = f"; {len(move.aside)} launches are measured again" if move.aside else ""
        self.tell("note", {"text": f"the baseline's speed moved by {math.expm1(move.change):+.1%}{again}"})

    def _end_orphans(self) -> None:
        """End what a coordinator that was killed left running, and close its launches in the ledger."""
        end_open_proofs(self.ledger.events, self._write, self.tell)
        for started in self.history.started:
            cleanup = Cleanup(True, 0.0, note="the coordinator ended before the server was started")
            if "marker" in started.data:
                cleanup = end_left(started.data)
            note = cleanup.note or "nothing of it was running any more"
            self._write("orphan", n=started.n, proven=cleanup.proven, note=note)
            self._quarantine(f"launch {started.n}", started.data, cleanup.leftovers)
            self.tell("orphan", {"n": started.n, "label": started.data["arm"]["label"], "note": note})

    def _quarantine(self, name: str, launch: Mapping[str, Any], left: Sequence[str]) -> None:
        """Nothing more is launched where something is left; ``launch`` is the ledger's record of its
        start."""
        if left:
            kept = {key: launch[key] for key in KEPT if key in launch}
            self._write(QUARANTINE, name=name, left=list(left), launch=kept)
            self.stuck = diagnosis(name, left)

    def _leftovers(self, name: str, left: Sequence[str]) -> None:
        """The same for the launch whose start was written last."""
        started = next((event for event in reversed(self.ledger.events) if event.kind in STARTS), None)
        if started is not None:
            self._quarantine(name, started.data, left)

    def _look_at_quarantine(self) -> None:
        """What was left behind earlier may have been ended since."""
        for event in open_quarantines(self.ledger.events):
            name, launch = event.data["name"], event.data["launch"]
            left = end_left(launch, event.data["left"]).leftovers
            if left:
                self.stuck = diagnosis(name, left)
                continue
            self._write(CLEARED, name=name, marker=launch["marker"])
            self.tell("note", {"text": f"what {name} had left behind is gone: the study goes on"})

    def _recall_answers(self) -> None:
        asked = {}
        history = self.history
        counted = {item.n for item in (*history.checks, *history.launches)}
        for event in self.ledger.events:
            if event.kind == "launch":
                asked[event.data["n"]] = event.data
            elif event.kind == "ended" and event.data["n"] in counted:
                launch, own = asked[event.data["n"]], recorded_answers(event.data)
                self.reference.learn(launch["arm"]["key"], own, in_round=launch["phase"] == ROUND)

    def _lease(self, command: ServerCommand) -> tuple[Gpu, ...]:
        """The GPUs that ``command`` will use, leased."""
        gpus = gpus_of(command, self.opened.facts, self.opened.environ)
        try:
            self.leases.take(gpus)
        except NotHeld as error:
            if not self.unleased:
                self.unleased = True
                self.tell("note", {"text": f"GPUs cannot be leased on this machine: {error}"})
        return gpus

    # -- one launch --------------------------------------------------------------------------------

    def _launch(self, step: Wanted, history: History) -> None:
        number = self.history.last_number + 1
        folder = self.opened.folder / "launches" / f"{number:04d}-{step.arm.key}"
        command = server_command(self.opened, step.arm.deployment)
        limits = replace(
            startup_limits(
                self.opened.study.launch.startup_s, step.arm.key, history, cold=cold(self.opened, history)
            ),
            foreign_mib=self.opened.study.launch.foreign_gpu_mib or 0.0,
        )
        fields = {"n": number, "arm": described(step.arm), "phase": step.phase, "round": step.round}
        if step.cold:
            fields["cold"] = True
        self._write(
            "launch", **fields, again=step.again, conditions=self.opened.conditions, folder=str(folder)
        )
        self.tell("launch", {"step": step, "n": number, "folder": folder})
        in_round = step.phase == ROUND
        prompts = self.opened.claim_prompts if in_round else self.opened.search_prompts
        clean: dict[str, Any] = {}
        try:
            reference = reference_for(self.opened.design, history, step)
            result = self._run(command, prompts, folder, number, limits, clean, reference)
        except (KeyboardInterrupt, asyncio.CancelledError):
            if not self.interrupts.name:
                raise
            with self.interrupts.hold():
                name = self.interrupts.name
                self.ledger.append("interrupted", time.time(), n=number, signal=name, cleanup=clean)
            self._leftovers(f"launch {number}", clean.get("leftovers", ()))
            raise KeyboardInterrupt(name) from None
        self._end(step, number, result)
        self._leftovers(f"launch {number}", result.cleanup.leftovers)
        self.interrupts.end_hold()

    def _run(
        self,
        command: ServerCommand,
        prompts: Sequence[Prompt],
        folder: Path,
        number: int,
        limits: Limits,
        clean: dict[str, Any],
        reference: Reference,
    ) -> LaunchResult:
        def progress(kind: str, data: Mapping[str, Any]) -> None:
            if kind == "started":
                self._write("running", n=number, **kept_of(command.stop, data))
            elif kind == "stopping":
                # From here to the ledger nothing is interrupted: what is measured is kept, what runs ends.
                self.interrupts.begin_hold()
            elif kind == "stopped":
                clean.update(data)
            self.tell("progress", {"kind": kind, "data": data})

        return run_launch(
            command,
            self.opened.plan,
            prompts,
            folder,
            limits,
            marker=f"{self.opened.name}-{number}-{secrets.token_hex(6)}",
            progress=progress,
            environment=self.opened.environ or None,
            gpus=self._lease(command),
            enough=partial(pointless, reference),
        )

    def _end(self, step: Wanted, number: int, result: LaunchResult) -> None:
        in_round = step.phase == ROUND
        limits, cost = self.opened.study.objective.limits, self.opened.design.step_cost
        data = ended(
            result,
            self.opened.space,
            step.arm,
            limits,
            AnswersReference() if step.cold else self.reference,
            in_round=in_round,
            step_cost=cost,
        )
        keys = {arm.key for arm in self.opened.design.baselines}
        counts = not data["failure"] and not step.cold
        own = result.answers if step.arm.key in keys and counts else {}
        new = self.reference.learn(step.arm.key, own, in_round=in_round)
        self._look_at_version(data["engine_version"])
        self._write("ended", n=number, answers={name: list(ids) for name, ids in new.items()}, **data)
        history = self.history
        if not self.check:
            self._save(history, "")
        whole = (*history.checks, *history.launches, *history.colds)
        launch = next(item for item in whole if item.n == number)
        self.tell("ended", {"step": step, "n": number, "launch": launch})

    def _look_at_version(self, version: str) -> None:
        """Say that the engine is not the version that the config names, or that ran before."""
        engine, seen = self.opened.config.engine, [""]
        for event in self.ledger.of_kind("ended"):
            seen.append(event.data.get("engine_version") or seen[-1])
        if not version or version == seen[-1]:
            return
        if seen[-1]:
            text = f"the engine is version {version} now, was {seen[-1]}: earlier launches are set aside"
            self.tell("note", {"text": text})
        elif engine is not None and version != engine.version:
            text = f"the server says that it is version {version}, the config names {engine.version}"
            self.tell("note", {"text": text})

    def _save(self, history: History, finished: str) -> None:
        results = make_results(self.opened.design, history, finished)
        write_results(self.opened.folder, self.opened.name, self.opened.conditions, results)


def startup_limits(given: float, arm: str, history: History, *, cold: bool = False) -> Limits:
    """Limits of the next launch of ``arm``. ``given`` is the study's own start-up limit in seconds.

    Once two launches were seen, the limit is learned from them. An arm that exceeded it before gets the whole
    of the study's, or more where others took long: the limit may have been at fault. So does a launch that
    finds caches ``cold``.
    """
    seen = [item.ready_s for item in history.timed]
    learned = LEARNED_STARTUP * max(seen, default=0.0)
    if cold or any(
        item.arm == arm and item.failure == "startup" for item in (*history.checks, *history.launches)
    ):
        return Limits(max(given, learned))
    return Limits(given if len(seen) < 2 else min(given, max(learned, LEAST_STARTUP_S)))


def keep_out_of_git(folder: Path) -> None:
    """A record under ``.eaglecfg`` is nobody's commit: logs and requests are large and may be private."""
    for parent in folder.parents:
        if parent.name == STUDIES.parts[0]:
            ignore = parent / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n", encoding="utf-8")
