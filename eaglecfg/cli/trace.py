"""``eaglecfg trace``."""

from __future__ import annotations

import click

from eaglecfg.cli.output import (
    color_option,
    columns,
    hub_settings,
    json_errors,
    read_files,
    tell,
    traceback_option,
    write,
)
from eaglecfg.errors import UsageError
from eaglecfg.report.trace import as_json, render, traced
from eaglecfg.rules.context import Checkpoints, deployment_context
from eaglecfg.rules.runner import validate
from eaglecfg.schema.load import load_config
from eaglecfg.source.document import Document

UNREADABLE = 2
INCOMPLETE = 3
IN_THE_WAY = ("EC0", "EC1")
"""The rules that say why a file holds no deployment to trace: those on its text and on its keys."""


@click.command("trace")
@click.argument("file", required=False)
@click.option("--deployment", "-d", multiple=True, help="Trace this deployment only; may be repeated.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@color_option
@traceback_option
@json_errors
def command(file: str | None, deployment: tuple[str, ...], form: str, color: str) -> int:
    """Show the path of the hidden states: capture, fc, draft layers, head, d2t, with shapes on every rank.

    Each hop says whether a state is whole on every rank or sharded, and where each number comes from. Then,
    with several ranks: who carries the all-reduces of verify and draft, how large they are, and what NCCL's
    own model makes of them where NCCL carries them.
    Exit code 3: of a deployment with a draft nothing could be traced.
    """
    document = read_files([file] if file else [])[0]
    config = load_config(document)
    if not config.deployments:
        return _nothing_there(document, form, color)
    unknown = [name for name in deployment if name not in {each.name for each in config.deployments}]
    if unknown:
        known = ", ".join(each.name for each in config.deployments)
        raise UsageError(f"{document.name} has no deployment {unknown[0]!r} to trace; it has {known}")
    checkpoints = Checkpoints(hub=hub_settings())
    contexts = [
        deployment_context(config, each, checkpoints)
        for each in config.deployments
        if not deployment or each.name in deployment
    ]
    if form == "json":
        click.echo(as_json(contexts), nl=False)
    else:
        for index, context in enumerate(contexts):
            write([*([()] if index else []), *render(context, columns())], color)
    return 0 if all(map(traced, contexts)) else INCOMPLETE


def _nothing_there(document: Document, form: str, color: str) -> int:
    """Say with the findings of ``validate`` why there is no deployment."""
    report = validate([document], select=IN_THE_WAY)
    message = f"{document.name} has no deployment to trace"
    if form == "json" or not report.findings:
        first = next((found.finding.message for found in report.findings), "")
        raise UsageError(f"{message}: {first}" if first else message)
    from eaglecfg.report.text import render_findings

    write(render_findings(report, columns()), color)
    tell(message)
    return UNREADABLE
