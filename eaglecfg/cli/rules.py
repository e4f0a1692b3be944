"""``eaglecfg rules``."""

from __future__ import annotations

import json

import click

from eaglecfg.cli.output import color_option, traceback_option, write
from eaglecfg.report.styled import Part, line
from eaglecfg.rules.examples import read_docs
from eaglecfg.rules.registry import chosen


@click.command("rules")
@click.argument("select", nargs=-1, metavar="[RULE]...")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@color_option
@traceback_option
def command(select: tuple[str, ...], form: str, color: str) -> int:
    """List the rules: id, severity, what the engine does about the fault today, and what is checked."""
    rules = chosen(select)
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
    slug = max(len(rule.slug) for rule in rules)
    out = [
        line(
            Part(rule.id, "bold"),
            f"  {rule.slug:<{slug}}  ",
            Part(f"{rule.severity:<7}", rule.severity.value),
            f"  {read_docs(rule).summary}",
        )
        for rule in rules
    ]
    write(out, color)
    return 0
