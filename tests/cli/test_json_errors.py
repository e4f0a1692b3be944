"""What JSON holds where there is no result fits the schema of the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from eaglecfg.cli.main import COMMANDS, MODULES

from .conftest import RunLine

ROOT = Path(__file__).parents[2]
FAILING: dict[str, list[list[str]]] = {
    "trace": [["nowhere.yaml"], ["empty.yaml"], ["eaglecfg.yaml", "-d", "nowhere"]],
    "nccl-log": [["nowhere.log"], ["empty.yaml"], ["empty.yaml", "--subsystems", "BANANA"]],
    "nccl-diff": [[], ["nowhere"], ["empty.yaml"]],
    "doctor": [["--config", "nowhere.yaml"], ["--python", ""]],
    "bench-allreduce": [["--bytes", "0"], ["--output", "-"]],
    "diff": [["nowhere.yaml", "elsewhere.yaml"]],
}


def schema(command: str) -> dict[str, Any]:
    text = (ROOT / "schemas" / f"{command}.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def test_every_command_that_puts_errors_into_json_is_here() -> None:
    found = {
        name
        for name in COMMANDS
        if "@json_errors" in (ROOT / "eaglecfg" / "cli" / f"{_module(name)}.py").read_text(encoding="utf-8")
    }
    assert found == set(FAILING)


def _module(name: str) -> str:
    return MODULES.get(name, name.replace("-", "_"))


@pytest.mark.parametrize(
    ("command", "arguments"), [(name, each) for name, all_of_it in FAILING.items() for each in all_of_it]
)
def test_an_error_fits_the_schema(run_line: RunLine, good: Path, command: str, arguments: list[str]) -> None:
    (good / "empty.yaml").write_text("", encoding="utf-8")
    code, out, err = run_line(command, *arguments, "--format", "json")
    assert code in (2, 3)
    data = json.loads(out)
    jsonschema.validate(data, schema(command))
    assert data["summary"]["exit_code"] == code
    assert err.strip() == f"eaglecfg: {data['error']['message']}"


@pytest.mark.parametrize("command", FAILING)
def test_the_schema_takes_no_half_of_an_error(command: str) -> None:
    for data in ({}, {"version": 1}, {"error": {"message": "x"}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(data, schema(command))
