"""The JSON report follows the schema that is promised for it."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from eaglecfg.report.machine import error_json, to_json
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Report
from tests.report.conftest import crowded, empty, hostile

SCHEMA: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "schemas" / "report.schema.json").read_text(encoding="utf-8")
)


def closed(schema: Any) -> Any:
    """The schema with every object closed, so that a key without a description is found."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    out = {key: closed(value) for key, value in schema.items()}
    if out.get("type") == "object" and "properties" in out and "additionalProperties" not in out:
        out["additionalProperties"] = False
    return out


def strict() -> Draft7Validator:
    schema = deepcopy(SCHEMA)
    # allOf of two closed objects lets nothing through: the second is checked by its own test.
    schema["definitions"]["suppressed"] = {"type": "object"}
    return Draft7Validator(closed(schema))


def errors(text: str) -> list[str]:
    data = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    every = [*Draft7Validator(SCHEMA).iter_errors(data), *strict().iter_errors(data)]
    return [f"{error.json_path}: {error.message}" for error in every]


def test_the_schema_is_one() -> None:
    Draft7Validator.check_schema(SCHEMA)


def test_real_reports_follow_it(real_reports: list[Report]) -> None:
    for report in real_reports:
        assert errors(to_json(report, Severity.ERROR, version="1")) == []


@pytest.mark.parametrize("report", [hostile(), empty(), crowded(20)], ids=["hostile", "empty", "crowded"])
def test_any_report_follows_it(report: Report) -> None:
    assert errors(to_json(report, Severity.INFO, version="1")) == []


def test_an_error_follows_it() -> None:
    assert errors(error_json("no such file", 2, version="1")) == []


def test_what_does_not_count_is_listed_apart() -> None:
    data = json.loads(to_json(hostile(), Severity.ERROR, version="1"))
    assert [each["suppression"]["kind"] for each in data["suppressed"]] == ["comment", "file"]
    assert set(data["suppressed"][0]) == {*data["findings"][0], "suppression"}
    assert data["summary"]["suppressed"] == 2
    assert data["summary"]["baseline"] == len(data["baseline"]["known"]) == 1
    assert data["baseline"]["stale"][0]["rule"] == "EC207"


def test_numbers_that_json_lacks_become_text() -> None:
    from eaglecfg.rules.model import Finding
    from tests.report.conftest import reported

    found = reported(Finding("m", values={"a": float("inf"), "b": [float("nan")], "c": {1, 2}}))
    text = to_json(Report((), (), (), (found,), (), (), (), 0, 0), Severity.ERROR, version="1")
    assert errors(text) == []
    assert json.loads(text)["findings"][0]["values"] == {"a": "inf", "b": ["nan"], "c": [1, 2]}
