"""Odd values, and what must hold whatever a file says."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from eaglecfg.report.concise import render as concise
from eaglecfg.report.machine import to_json
from eaglecfg.report.shown import Shown
from eaglecfg.report.styled import plain
from eaglecfg.report.text import render as text
from eaglecfg.report.trace import as_json
from eaglecfg.report.trace import render as trace
from eaglecfg.rules.context import Checkpoints, deployment_context
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.runner import validate
from eaglecfg.schema.load import load_config
from eaglecfg.source.read import read_document

INTERNAL = re.compile(r"Traceback|pydantic|<class|object at 0x|Input should")
LONGEST = 640
SECONDS = 5.0

scalars = (
    st.none()
    | st.booleans()
    | st.sampled_from([0, 1, -1, 2, 10**9, 2**31, 2**63, -(2**70), 10**40, 0.5, 256.0, 1e308, -0.0])
    | st.sampled_from(["", "4096", "x", "false", "0", "128k", "x" * 5000, "ü—\u202e", "a b", "../..", "[1"])
    | st.text(max_size=6)
)
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
) | st.sampled_from([["x"] * 3000, {f"k{i}": i for i in range(1500)}, [[1]], {"a": {"b": [1]}}])
DELETED = "<deleted>"


def several(examples: int) -> settings:
    """Settings for tests that rewrite files of one folder."""
    quiet = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(max_examples=examples, deadline=None, suppress_health_check=quiet, derandomize=True)


def changed(data: Mapping[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """A copy of ``data`` with another value at ``path``, or without it."""
    out: dict[str, Any] = deepcopy(dict(data))
    holder = out
    for part in path[:-1]:
        if not isinstance(holder.get(part), dict):
            holder[part] = {}
        holder = holder[part]
    if value == DELETED:
        holder.pop(path[-1], None)
    else:
        holder[path[-1]] = value
    return out


def check(folder: Path, file: str = "eaglecfg.yaml") -> Report:
    """Validate the file and show the report in every form, the trace too, within bounds."""
    started = time.process_time()
    report = validate([read_document(folder / file, shown=file)])
    assert report.crashes == ()
    assert report.exit_code() in (0, 1, 2, 3)
    for found in report.findings:
        finding = found.finding
        assert finding.message.strip()
        for said in (finding.message, finding.why, finding.help, *(each.text for each in finding.evidence)):
            assert len(said) <= LONGEST, found.rule.id
            assert said.isprintable(), found.rule.id
            assert INTERNAL.search(said) is None, said
    for skipped in report.not_checked:
        assert INTERNAL.search(skipped.reason) is None
    assert json.loads(to_json(report, Severity.ERROR, version="0"))["version"] == 1
    assert plain(text(report, Shown(), version="0", width=100)).encode()
    plain(concise(report)).encode()
    if file == "eaglecfg.yaml":
        _trace(folder / file)
    assert time.process_time() - started < SECONDS
    return report


def _trace(path: Path) -> None:
    config, checkpoints = load_config(read_document(path, shown=path.name)), Checkpoints()
    contexts = [deployment_context(config, each, checkpoints) for each in config.deployments]
    assert json.loads(as_json(contexts))["version"] == 1
    for context in contexts:
        assert plain(trace(context, 100)).encode()


def said(report: Report) -> set[tuple[str, str]]:
    """Rule and message of every finding."""
    return {(found.rule.id, found.finding.message) for found in report.findings}
