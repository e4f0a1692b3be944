"""What other programs read of a study is as schemas/ says, to the last key."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from eaglecfg.cli.main import run
from eaglecfg.tune.arm import Arm
from eaglecfg.tune.results import make_results
from eaglecfg.tune.tables import as_json
from tests.tune.folder import ROOT, Folder
from tests.tune.simulate import Simulation, make

RECORDED = sorted(path.parent for path in (ROOT / "studies/results").glob("*/ledger.jsonl"))


def schema(name: str) -> Any:
    data = json.loads((ROOT / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8"))
    Draft7Validator.check_schema(data)
    return data


def strict(data: Any) -> Any:
    """A schema that refuses keys which it does not describe."""
    if isinstance(data, list):
        return [strict(each) for each in data]
    if not isinstance(data, dict):
        return data
    out = {key: strict(value) for key, value in data.items()}
    return {"additionalProperties": False, **out} if isinstance(out.get("properties"), dict) else out


def check(name: str, data: Any) -> None:
    found = Draft7Validator(strict(schema(name))).iter_errors(json.loads(json.dumps(data)))
    assert [f"{list(each.absolute_path)}: {each.message}" for each in found] == []


def speed(arm: Arm) -> float:
    shape = arm.deployment.speculative
    return 0.0 if shape is None or isinstance(shape, str) else 0.1 * (shape.num_steps or 0)


def study(profile: str = "demo", **more: Any) -> Simulation:
    space = {"speculative": ["off", {"num_steps": [1, 2, 3, 4]}], "nccl.proto": ["unset", "LL", "Simple"]}
    return Simulation(make(space, profile=profile, **more), speed, random.Random(0))


def whole() -> Simulation:
    simulation = study()
    simulation.run()
    return simulation


def begun() -> Simulation:
    simulation = study()
    simulation.run(3)
    return simulation


def searched() -> Simulation:
    simulation = study("overnight", budget={"launches": 60})
    simulation.drift = 0.02
    simulation.run()
    return simulation


def failed() -> Simulation:
    simulation = study()
    simulation.fault = lambda arm, number: "oom" if arm.deployment.nccl.get("proto") == "LL" else ""
    simulation.run()
    return simulation


def over_limits() -> Simulation:
    simulation = study()
    broken = {"limits": ["ttft_p99_ms 31.0 > 20 at concurrency 1"]}
    simulation.more = lambda step, score: broken if score > 0.3 else {}
    simulation.run()
    return simulation


@pytest.mark.parametrize(
    "made", [whole, begun, searched, failed, over_limits], ids=lambda made: made.__name__
)
def test_a_result_has_the_keys_of_its_schema(made: Callable[[], Simulation]) -> None:
    simulation = made()
    results = make_results(simulation.design, simulation.history, "why")
    check("tune-result", as_json("x", "c", results))


@pytest.mark.parametrize("record", RECORDED, ids=lambda record: record.name)
def test_so_have_recorded_studies(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = {"quickstart-h200": "quickstart"}.get(record.name, record.name)
    words = [str(ROOT / "studies" / f"{name}.yaml"), "--out", str(record), "--format", "json"]
    run(["tune", "report", *words])
    check("tune-result", json.loads(capsys.readouterr().out))
    run(["tune", "status", *words])
    check("tune-status", json.loads(capsys.readouterr().out))


def test_so_has_a_study_of_servers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Folder(tmp_path)
    folder.study(steps=(4,))
    run(["tune", "status", str(tmp_path / "study.yaml"), "--format", "json"])
    check("tune-status", json.loads(capsys.readouterr().out))
    assert run(folder.arguments) == 0
    check("tune-result", folder.result)
