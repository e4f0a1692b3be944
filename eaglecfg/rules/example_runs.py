"""Examples of rules, really run: files in a temporary folder, checked as a user's would be."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eaglecfg.rules.examples import materialize
from eaglecfg.rules.model import Rule
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.runner import validate
from eaglecfg.source.read import read_document


def run_example(rule: Rule, example: Mapping[str, Any]) -> Report:
    """What ``rule`` alone makes of ``example``. No path of the temporary folder is in the report."""
    with tempfile.TemporaryDirectory() as folder:
        config = materialize(example, Path(folder))
        files = [path for path in (config, config.with_name("study.yaml")) if path.exists()]
        return validate([read_document(path, shown=path.name) for path in files], select=[rule.id])


def base_pair() -> Mapping[str, str]:
    """File name to text of the small consistent pair that every example changes."""
    with tempfile.TemporaryDirectory() as folder:
        config = materialize({}, Path(folder))
        names = ("eaglecfg.yaml", "target/config.json", "draft/config.json")
        return {name: config.with_name("x").parent.joinpath(name).read_text("utf-8") for name in names}
