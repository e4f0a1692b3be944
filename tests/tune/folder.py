"""A study of the stand-in in a folder of its own, run in this process or in another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import eaglecfg
from eaglecfg.tune.ledger import Event, read_ledger

ROOT = Path(eaglecfg.__file__).parents[1]
CONFIG = """\
version: 1
engine: {name: sglang, version: 0.5.14}
deployments:
  chat:   # served to users
    target: {checkpoint: t}
    draft: {checkpoint: d}
    speculative: {num_steps: 4, eagle_topk: 1, num_draft_tokens: 5}   # as ever
"""

SERVER = """\
import os, sys
from eaglecfg.tune.standin.serve import main
sys.exit(main(sys.argv[1:], os.environ))
"""


class Folder:
    """A config, prompts and a study in a folder of their own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "eaglecfg.yaml").write_text(CONFIG, encoding="utf-8")
        lines = [json.dumps({"input_ids": [number, 5, 6, 7]}) for number in range(8)]
        (path / "prompts.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.study()

    def study(
        self,
        steps: Sequence[int] = (2, 4),
        flags: Sequence[str] = (),
        more: str = "",
        space: str = "",
        tokens: int = 64,
        startup_s: float = 600,
        env: str = "{}",
    ) -> None:
        """Write study.yaml; two rounds unless ``more`` has a budget."""
        if "budget:" not in more:
            more += f"budget: {{launches: {2 * len({4, *steps}) + 2}}}\n"
        text = (
            "version: 1\nconfig: eaglecfg.yaml\ndeployment: chat\nprofile: demo\n"
            "launch:\n  prefix: ['{python}', -m, eaglecfg.tune.standin]\n"
            f"  flags: {json.dumps(['--virtual-clock', *flags])}\n  startup_s: {startup_s}\n  env: {env}\n"
            f"space:\n  speculative: ['off', {{num_steps: {list(steps)}}}]\n{space}"
            f"workload: {{prompts: prompts.jsonl, output_tokens: {tokens}}}\n{more}"
        )
        (self.path / "study.yaml").write_text(text, encoding="utf-8")

    def name_an_engine(self) -> None:
        """Start servers by a name that does not tell that they ship with eaglecfg."""
        server, study = self.path / "server.py", self.path / "study.yaml"
        server.write_text(SERVER, encoding="utf-8")
        text = study.read_text(encoding="utf-8")
        text = text.replace("-m, eaglecfg.tune.standin", json.dumps(str(server)))
        env = json.dumps({"PYTHONPATH": str(ROOT)})
        study.write_text(text.replace("env: {}", f"env: {env}"), encoding="utf-8")

    @property
    def arguments(self) -> list[str]:
        return ["tune", str(self.path / "study.yaml"), "--launch-anyway"]

    def start(self) -> subprocess.Popen[str]:
        """The command in a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "eaglecfg", *self.arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

    @property
    def record(self) -> Path:
        return self.path / ".eaglecfg" / "studies" / "study"

    @property
    def events(self) -> tuple[Event, ...]:
        return read_ledger(self.record / "ledger.jsonl")

    @property
    def result(self) -> Mapping[str, Any]:
        data: Mapping[str, Any] = json.loads((self.record / "result.json").read_text(encoding="utf-8"))
        return data

    def finished(self) -> list[tuple[str, int, str, str]]:
        """Label, round, scores and failure of every finished launch, in order; less those that filled
        caches."""
        asked = {event.data["n"]: event.data for event in self.events if event.kind == "launch"}
        return [
            (
                asked[event.data["n"]]["arm"]["label"],
                asked[event.data["n"]]["round"],
                json.dumps(event.data["scores"]),
                event.data["failure"],
            )
            for event in self.events
            if event.kind == "ended"
            and not (asked[event.data["n"]].get("cold") and not event.data["failure"])
        ]

    def left_running(self) -> list[str]:
        """Processes that carry one of this study's markers."""
        marks = [event.data["marker"].encode() for event in self.events if event.kind == "running"]
        found = []
        for entry in Path("/proc").iterdir():
            try:
                environment = (entry / "environ").read_bytes() if entry.name.isdigit() else b""
            except OSError:
                continue
            if any(mark in environment for mark in marks):
                found.append(entry.name)
        return found


def wait_for(found: Any, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
