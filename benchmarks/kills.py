"""SIGKILL at random moments: of the coordinator of a study, of its server, of its supervisor, of all at once.

``python -m benchmarks.kills [--kills 1000] [--seed 0]`` runs a study of the stand-in over and over, kills it,
resumes it, and compares it with the same study left in peace. Printed: finished launches lost, processes
left, how long from the resume to the next launch, and whether the sequence of launches is the same. Exit
status 1 when something was lost, left or different. ``tests/tune/test_kills.py`` runs fewer of these kills.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.process import ROOT
from eaglecfg.tune.ledger import Event, read_ledger

VICTIMS = ("coordinator", "server", "supervisor", "everything")
RESUME_S = 3.0
"""The bar from the start of the command to the next launch."""

CONFIG = """\
version: 1
engine: {name: sglang, version: 0.5.14}
deployments:
  chat:
    target: {checkpoint: t}
    draft: {checkpoint: d}
    speculative: {num_steps: 4, eagle_topk: 1, num_draft_tokens: 5}
"""
STUDY = """\
version: 1
config: eaglecfg.yaml
deployment: chat
profile: demo
launch: {{prefix: ['{{python}}', -m, eaglecfg.tune.standin], flags: [--virtual-clock]}}
space: {{speculative: ['off', {{num_steps: [1, 2, 3, 4]}}]}}
workload: {{prompts: prompts.jsonl, output_tokens: 64}}
budget: {{launches: {launches}}}
"""


@dataclass
class Tally:
    """What the kills came to."""

    kills: int = 0
    studies: int = 0
    lost: int = 0
    left: int = 0
    different: int = 0
    resumes: list[float] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Nothing was lost, left or different, and every resume was within its bar."""
        return not (self.lost or self.left or self.different) and max(self.resumes, default=0.0) <= RESUME_S


class Study:
    """A study of the stand-in in a folder."""

    def __init__(self, folder: Path, launches: int) -> None:
        folder.mkdir()
        self.folder = folder
        (folder / "eaglecfg.yaml").write_text(CONFIG)
        (folder / "study.yaml").write_text(STUDY.format(launches=launches))
        rows = (json.dumps({"input_ids": [number, 5, 6, 7]}) for number in range(8))
        (folder / "prompts.jsonl").write_text("\n".join(rows) + "\n")

    def start(self) -> subprocess.Popen[bytes]:
        """Run the study, or go on with it."""
        return subprocess.Popen(
            [sys.executable, "-m", "eaglecfg", "tune", str(self.folder / "study.yaml"), "--launch-anyway"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

    @property
    def events(self) -> tuple[Event, ...]:
        return read_ledger(self.folder / ".eaglecfg/studies/study/ledger.jsonl")

    def finished(self) -> list[tuple[str, int, str]]:
        """Label, round and scores of every good launch, in order."""
        events = self.events
        asked = {event.data["n"]: event.data for event in events if event.kind == "launch"}
        return [
            (
                asked[event.data["n"]]["arm"]["label"],
                asked[event.data["n"]]["round"],
                json.dumps(event.data["scores"]),
            )
            for event in events
            if event.kind == "ended" and not event.data["failure"]
        ]

    def server(self) -> int | None:
        """The pid of the newest launch's server, where one was started."""
        running = [event for event in self.events if event.kind == "running"]
        if not running:
            return None
        try:
            lines = (Path(running[-1].data["folder"]) / "supervisor.jsonl").read_text().splitlines()
        except OSError:
            return None
        started = [json.loads(line) for line in lines if '"started"' in line]
        return int(started[-1]["pid"]) if started else None

    def left(self) -> list[int]:
        """Processes that carry the marker of one of the study's launches."""
        marks = [event.data["marker"].encode() for event in self.events if event.kind == "running"]
        found = []
        for entry in Path("/proc").iterdir():
            try:
                environment = (entry / "environ").read_bytes() if entry.name.isdigit() else b""
            except OSError:
                continue
            if any(mark in environment for mark in marks):
                found.append(int(entry.name))
        return found


def kill_study(study: Study, kills: int, rng: random.Random, tally: Tally, whole: Study) -> None:
    """Kill ``study`` up to ``kills`` times on its way to its end, and compare it with ``whole``."""
    kept: list[tuple[str, int, str]] = []
    for _ in range(kills):
        process = study.start()
        before = len(study.events)
        resumed = _wait_for_launch(study, before, process)
        if resumed is None:
            process.wait(60)
            break  # it was at its end already
        tally.resumes.append(resumed)
        time.sleep(rng.uniform(0.0, 0.5))
        # A setting whose server dies twice, before it has run once, is at fault itself, and counts as such.
        doubted = _server_died(study)
        victim = rng.choice([name for name in VICTIMS if name != "server" or not doubted])
        _kill(study, process, victim)
        tally.kills += 1
        if victim in ("server", "supervisor"):
            time.sleep(rng.uniform(0.0, 0.6))
            tally.kills += process.poll() is None
            process.kill()
        process.wait(30)
        now = study.finished()
        tally.lost += now[: len(kept)] != kept
        kept = now
    study.start().wait(120)
    tally.studies += 1
    tally.left += len(study.left())
    tally.different += study.finished() != whole.finished()


def _server_died(study: Study) -> bool:
    """Whether a server was killed since the last launch that gave numbers: of the same setting, so far."""
    for event in reversed(study.events):
        if event.kind == "ended" and event.data["failure"] in ("", "crash"):
            return bool(event.data["failure"])
    return False


def _wait_for_launch(study: Study, before: int, process: subprocess.Popen[bytes]) -> float | None:
    """Seconds until the study launches; None when it ends without."""
    begun = time.monotonic()
    while process.poll() is None:
        if any(event.kind == "launch" for event in study.events[before:]):
            return time.monotonic() - begun
        time.sleep(0.01)
    return None


def _kill(study: Study, process: subprocess.Popen[bytes], victim: str) -> None:
    server = study.server()
    supervisor = next(
        (event.data["pid"] for event in reversed(study.events) if event.kind == "running"), None
    )
    chosen = {
        "coordinator": [process.pid],
        "server": [server],
        "supervisor": [supervisor],
        "everything": [process.pid, supervisor, server],
    }[victim]
    ours = set(study.left()) | {process.pid}
    for pid in chosen:
        # Only what carries the study's marker, or is the process that was started here.
        if pid is not None and (pid in ours or pid == supervisor):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


def run(kills: int, seed: int, folder: Path, *, launches: int = 10) -> Tally:
    """About ``kills`` kills over as many studies as that takes."""
    whole = Study(folder / "whole", launches)
    whole.start().wait(300)
    rng, tally = random.Random(seed), Tally()
    while tally.kills < kills:
        study = Study(folder / f"study-{tally.studies}", launches)
        kill_study(study, min(kills - tally.kills, launches), rng, tally, whole)
    return tally


def main() -> int:
    """Kill, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        tally = run(given.kills, given.seed, Path(folder))
    print(f"{tally.kills} kills in {tally.studies} studies, {time.monotonic() - begun:.0f} s")
    print(f"finished launches lost: {tally.lost}; studies of another sequence: {tally.different}")
    print(f"processes left: {tally.left}")
    resumes = sorted(tally.resumes)
    print(
        f"from the command to the next launch: median {resumes[len(resumes) // 2]:.2f} s, "
        f"worst {resumes[-1]:.2f} s, bar {RESUME_S:.0f} s"
    )
    return 0 if tally.good else 1


if __name__ == "__main__":
    sys.exit(main())
