"""Files made to exhaust the check stay within bounds on memory and processor time."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.rules.examples import BASE_CONFIG, BASE_DRAFT
from tests.fuzz.odd import changed

ONE = {"target": {"checkpoint": "target"}}
THREE_HUNDRED = {f"d{index}": ONE for index in range(300)}
DEPLOYMENT = BASE_CONFIG["deployments"]["chat"]


def flags(count: int) -> dict[str, int]:
    return {f"no_such_flag_{index}": 1 for index in range(count)}


CONFIGS: dict[str, Any] = {
    "flags": changed(BASE_CONFIG, ("deployments", "chat", "server"), flags(40_000)),
    "variables": changed(
        BASE_CONFIG, ("deployments", "chat", "env"), {f"NCCL_X{i}": "1" for i in range(40_000)}
    ),
    "shared flags": {**BASE_CONFIG, "defaults": {"server": flags(40_000)}, "deployments": THREE_HUNDRED},
    "a thousand flags": {**BASE_CONFIG, "defaults": {"server": flags(1000)}, "deployments": THREE_HUNDRED},
    "deployments": {**BASE_CONFIG, "deployments": {f"d{index}": DEPLOYMENT for index in range(2000)}},
    "boundaries": changed(
        BASE_CONFIG, ("deployments", "chat", "capture", "trained_boundaries"), [3] * 90_000
    ),
}
DRAFTS: dict[str, Any] = {
    "layers": {"num_hidden_layers": 10**9},
    "states": {"fc_norm": True, "num_aux_hidden_states": 10**9},
    "ids": {"eagle_config": {"eagle_aux_hidden_state_layer_ids": [2] * 1_000_000}},
    "tokens": {"eos_token_id": list(range(900_000))},
    "word": {"hidden_act": "x" * 7_000_000},
}


def bounded(folder: Path, command: str) -> int:
    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))
        resource.setrlimit(resource.RLIMIT_CPU, (5, 5))

    done = subprocess.run(
        [sys.executable, "-m", "eaglecfg.cli.main", command, str(folder / "eaglecfg.yaml")],
        capture_output=True,
        text=True,
        preexec_fn=bound,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert done.returncode in (0, 1, 2, 3), done.stderr[-300:]
    return done.returncode


@pytest.mark.parametrize("name", CONFIGS)
def test_configs_within_bounds(name: str, pair: Path) -> None:
    file = pair / "eaglecfg.yaml"
    before = file.read_text()
    try:
        file.write_text(json.dumps(CONFIGS[name]))
        assert bounded(pair, "validate") in (1, 2)
    finally:
        file.write_text(before)


@pytest.mark.parametrize("name", DRAFTS)
def test_drafts_within_bounds(name: str, pair: Path) -> None:
    file = pair / "draft" / "config.json"
    before = file.read_text()
    try:
        file.write_text(json.dumps({**BASE_DRAFT, **DRAFTS[name]}))
        bounded(pair, "validate")
        bounded(pair, "trace")
    finally:
        file.write_text(before)
