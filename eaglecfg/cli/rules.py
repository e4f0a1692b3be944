"""``eaglecfg rules``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from eaglecfg.cli.output import color_option, columns, traceback_option, write
from eaglecfg.report.styled import Part, line, wrapped
from eaglecfg.rules.examples import read_docs
from eaglecfg.rules.model import Rule
from eaglecfg.rules.registry import chosen

if TYPE_CHECKING:
    from eaglecfg.report.catalogue import Entry
    from eaglecfg.rules.survey import Survey


@click.command("rules")
@click.argument("select", nargs=-1, metavar="[RULE]...")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="How to print them; markdown has every rule's documentation, with every example run.",
)
@click.option(
    "--write",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the same as pages to a folder: rules.md, and one in rules/ for each family.",
)
@color_option
@traceback_option
def command(select: tuple[str, ...], form: str, folder: Path | None, color: str) -> int:
    """List the rules: id, severity, what the engine does about the fault today, and what is checked."""
    rules = chosen(select, live=True, weights=True)
    if folder is not None:
        from eaglecfg.report.catalogue import pages

        for name, text in pages(*_documented(rules)).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
            click.echo(f"wrote {folder / name}")
        return 0
    if form == "json":
        rows = [
            {
                "id": rule.id,
                "slug": rule.slug,
                "severity": rule.severity.value,
                "engine_today": rule.today.value,
                "scope": rule.scope,
                "needs": [need.value for need in rule.needs],
                "summary": read_docs(rule).summary,
                "research": list(rule.research),
            }
            for rule in rules
        ]
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return 0
    if form == "markdown":
        from eaglecfg.report.catalogue import render

        click.echo(render(*_documented(rules)), nl=False)
        return 0
    slug = max(len(rule.slug) for rule in rules)
    width = columns()
    hang = " " * (slug + 19 if slug + 59 <= width else 4)  # where the summary stands, if there is room for it
    out = [
        row
        for rule in rules
        for row in wrapped(
            line(
                Part(rule.id, "bold"),
                f"  {rule.slug:<{slug}}  ",
                Part(f"{rule.severity:<7}", rule.severity.value),
                " ",
            ),
            read_docs(rule).summary,
            width,
            hang,
        )
    ]
    write(out, color)
    return 0


def _documented(rules: Sequence[Rule]) -> tuple[list[Entry], Mapping[str, str], Survey]:
    """The rules with their documentation; every example in it is run on the way."""
    from eaglecfg.report.catalogue import Entry
    from eaglecfg.rules.example_runs import base_pair, run_example
    from eaglecfg.rules.survey import read_survey

    entries = []
    for rule in rules:
        docs = read_docs(rule)
        fails, passes = (run_example(rule, group[0]) for group in (docs.failing, docs.passing))
        entries.append(Entry(rule, docs, fails, passes))
    return entries, base_pair(), read_survey()
