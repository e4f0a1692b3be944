"""What a pre-deploy check loads. Counted, not timed: a count is the same on a busy machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROBE = """\
import io, json, sys
from eaglecfg.cli.main import run
shown, sys.stdout = sys.stdout, io.StringIO()
code = run(["validate", "eaglecfg.yaml"])
json.dump([code, sorted(sys.modules)], shown)
"""
SLOW = {
    "aiohttp",
    "asyncio",
    "difflib",
    "jsonschema",
    "logging",
    "numpy",
    "optuna",
    "packaging",
    "pydantic",
    "rich",
    "scipy",
    "subprocess",
    "torch",
    "transformers",
}
"""Packages and parts of the standard library that take milliseconds, without use to a clean check.

Of pydantic only ``pydantic_core`` is needed, which holds the validators.
"""

OTHER_COMMANDS = (
    "eaglecfg.api",
    "eaglecfg.checkpoint.floats",
    "eaglecfg.checkpoint.values",
    "eaglecfg.cli.rules",
    "eaglecfg.cli.tune",
    "eaglecfg.cli.weights_progress",
    "eaglecfg.live",
    "eaglecfg.machine",
    "eaglecfg.reference",
    "eaglecfg.report.catalogue",
    "eaglecfg.report.formats",
    "eaglecfg.report.machine",
    "eaglecfg.report.roots",
    "eaglecfg.report.trace",
    "eaglecfg.report.upgrade",
    "eaglecfg.review",
    "eaglecfg.rules.baseline",
    "eaglecfg.rules.examples",
    "eaglecfg.rules.fingerprint",
    "eaglecfg.rules.fixes",
    "eaglecfg.rules.suppression",
    "eaglecfg.rules.live",
    "eaglecfg.rules.weights",
    "eaglecfg.schema.export",
    "eaglecfg.schema.study",
    "eaglecfg.source.edit",
    "eaglecfg.source.patch",
    "eaglecfg.tune",
)
MOST_OF_OTHERS = 200
"""Modules of Python, PyYAML, click and pydantic_core; there were 150 on Python 3.11."""

MOST_OF_OURS = 92
"""Modules of our own beside the rules. There were 70."""


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    """Every module that ``eaglecfg validate`` on the example has loaded when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    code, modules = json.loads(done.stdout)
    assert code == 0, "the example is good"
    return set(modules)


def test_nothing_slow_is_loaded(loaded: set[str]) -> None:
    assert {name.partition(".")[0] for name in loaded} & SLOW == set()


def test_nothing_of_other_commands_is_loaded(loaded: set[str]) -> None:
    found = {name for name in loaded for other in OTHER_COMMANDS if f"{name}.".startswith(f"{other}.")}
    assert found == set()


def test_the_number_of_modules_is_bounded(loaded: set[str]) -> None:
    ours = {name for name in loaded if name.startswith("eaglecfg.")}
    others = loaded - ours
    assert len(others) <= MOST_OF_OTHERS, sorted(others)
    outside_rules = {name for name in ours if not name.startswith("eaglecfg.rules.")}
    assert len(outside_rules) <= MOST_OF_OURS, sorted(outside_rules)
