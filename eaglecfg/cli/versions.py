"""``eaglecfg validate --engine-version``: the same files under several versions of the engine."""

from __future__ import annotations

from collections.abc import Sequence

import click

from eaglecfg import __version__
from eaglecfg.cli.output import columns, write
from eaglecfg.errors import UsageError
from eaglecfg.report.upgrade import as_json, exit_code, render
from eaglecfg.rules.model import Severity
from eaglecfg.rules.runner import Options
from eaglecfg.rules.upgrade import look_ahead
from eaglecfg.source.document import Document


def compare(
    documents: Sequence[Document], given: str, options: Options, form: str, color: str, fail_on: Severity
) -> int:
    """Print what changes between the versions in ``given`` (``A,B,...``) and return the exit code."""
    versions = [part.strip() for part in given.split(",")]
    if not all(versions):
        raise UsageError(f"--engine-version takes versions with commas between them (A,B), got {given!r}")
    upgrade = look_ahead(documents, versions, **options)
    if form == "json":
        click.echo(as_json(upgrade, fail_on, version=__version__), nl=False)
    elif form == "concise":
        from eaglecfg.report.upgrade_concise import render as concise

        write(concise(upgrade), color)
    else:
        write(render(upgrade, fail_on, version=__version__, width=columns()), color)
    return exit_code(upgrade, fail_on)
