"""``eaglecfg explain``."""

from __future__ import annotations

import click

from eaglecfg.cli.output import color_option, columns, traceback_option, write
from eaglecfg.errors import UsageError
from eaglecfg.report.explanation import render
from eaglecfg.rules.example_runs import run_example
from eaglecfg.rules.examples import read_docs
from eaglecfg.rules.registry import matching

MOST_RULES = 80
"""Rules explained at once. The examples of each are really run."""


@click.command("explain")
@click.argument("rule")
@color_option
@traceback_option
def command(rule: str, color: str) -> int:
    """Tell what RULE checks, why it matters and how to fix it, with examples that are really run.

    RULE is an id (EC221), a slug (fusion-shape) or the beginning of an id (EC2).
    """
    found = matching(rule)
    if len(found) > MOST_RULES:
        raise UsageError(
            f"{rule!r} stands for {len(found)} rules; name one or a family, such as EC2: "
            "`eaglecfg rules` lists them"
        )
    for index, each in enumerate(found):
        docs = read_docs(each)
        examples = [
            (example["title"], fails, run_example(each, example))
            for group, fails in ((docs.failing[:1], True), (docs.passing[:1], False))
            for example in group
        ]
        lines = render(each, docs, examples, columns())
        write([(), *lines] if index else lines, color)
    return 0
