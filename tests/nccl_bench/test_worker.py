"""The rank's program by itself."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

from eaglecfg.nccl.bench.plan import jobs
from eaglecfg.tune.collective_ranks import WORKER, free_loopback_port
from tests.nccl_bench.conftest import make_plan


def test_the_worker_needs_the_standard_library_and_torch_alone() -> None:
    imported = set()
    for node in ast.walk(ast.parse(WORKER.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").partition(".")[0])
    assert imported - set(sys.stdlib_module_names) == {"torch"}


def test_the_worker_is_grammar_of_python_3_9() -> None:
    ast.parse(WORKER.read_text(encoding="utf-8"), feature_version=(3, 9))


def test_no_module_beside_the_worker_hides_one_of_the_standard_library() -> None:
    beside = {path.stem for path in WORKER.parent.glob("*.py")} - {"__init__"}
    assert beside & set(sys.stdlib_module_names) == set()


def test_a_rank_runs_by_hand_and_prints_its_steps(tmp_path: Path, torch_python: str) -> None:
    plan = make_plan(backend="gloo", graph=False, calls=2, replays=3, passes=1, warm_s=0.01)
    order = tmp_path / "order.json"
    order.write_text(json.dumps(plan.order("time")), encoding="utf-8")
    own = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "GLOO_SOCKET_IFNAME": "lo"}
    done = subprocess.run(
        [torch_python, str(WORKER), str(order)],
        env={**os.environ, **own, "MASTER_PORT": str(free_loopback_port())},
        capture_output=True,
        text=True,
        timeout=60,
    )
    events = [json.loads(line)["event"] for line in done.stdout.splitlines()]
    assert events[:4] == ["imported", "device", "joined", "connected"], done.stderr
    assert events[-1] == "done"
    assert done.returncode == 0


def test_jobs_of_a_plan_are_each_a_launch() -> None:
    assert len(list(jobs(make_plan(processes=3)))) == 1 + 3
