"""``eaglecfg trace``."""

from __future__ import annotations

import os

import click

from eaglecfg.checkpoint.hubid import hub_access
from eaglecfg.cli.output import color_option, columns, read_files, traceback_option, write
from eaglecfg.errors import UsageError
from eaglecfg.report.trace import as_json, render
from eaglecfg.rules.context import Checkpoints, deployment_context
from eaglecfg.schema.load import load_config


@click.command("trace")
@click.argument("file", required=False)
@click.option("--deployment", "-d", help="Trace this deployment only.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@color_option
@traceback_option
def command(file: str | None, deployment: str | None, form: str, color: str) -> int:
    """Show the path of the hidden states: capture, fc, draft layers, head, d2t, with shapes on every rank.

    Each hop says whether a state is whole on every rank or sharded, and where each number comes from.
    """
    config = load_config(read_files([file] if file else [])[0])
    chosen = [each for each in config.deployments if deployment in (None, each.name)]
    if not chosen:
        known = ", ".join(each.name for each in config.deployments) or "none"
        raise UsageError(f"{config.document.name} has no such deployment to trace; it has {known}")
    checkpoints = Checkpoints(hub=hub_access(os.environ))
    contexts = [deployment_context(config, each, checkpoints) for each in chosen]
    if form == "json":
        click.echo(as_json(contexts), nl=False)
        return 0
    for index, context in enumerate(contexts):
        write([*([()] if index else []), *render(context, columns())], color)
    return 0
