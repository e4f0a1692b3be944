"""``eaglecfg explain``."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from eaglecfg.cli.output import color_option, columns, traceback_option, write
from eaglecfg.report.explanation import render
from eaglecfg.rules.examples import materialize, read_docs
from eaglecfg.rules.model import Rule
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.registry import matching
from eaglecfg.rules.runner import validate
from eaglecfg.source.read import read_document


@click.command("explain")
@click.argument("rule")
@color_option
@traceback_option
def command(rule: str, color: str) -> int:
    """Tell what RULE checks, why it matters and how to fix it, with examples that are really run.

    RULE is an id (EC221), a slug (fc-input-width) or the beginning of an id (EC2).
    """
    for index, each in enumerate(matching(rule)):
        docs = read_docs(each)
        examples = [
            (example["title"], fails, _run(each, example))
            for group, fails in ((docs.failing[:1], True), (docs.passing[:1], False))
            for example in group
        ]
        lines = render(each, docs, examples, columns())
        write([(), *lines] if index else lines, color)
    return 0


def _run(rule: Rule, example: Mapping[str, Any]) -> Report:
    """Check an example as real files in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        config = materialize(example, Path(folder))
        files = [path for path in (config, config.with_name("study.yaml")) if path.exists()]
        return validate([read_document(path, shown=path.name) for path in files], select=[rule.id])
