"""``eaglecfg validate --engine-version``: the same files under several versions of the engine."""

from __future__ import annotations

from collections.abc import Sequence

import click

from eaglecfg import __version__
from eaglecfg.cli.output import WIDEST, columns, write
from eaglecfg.cli.report_output import Outputs
from eaglecfg.errors import UsageError
from eaglecfg.report.styled import Line, plain
from eaglecfg.report.upgrade import as_json, exit_code, render
from eaglecfg.rules.model import Severity
from eaglecfg.rules.runner import Options
from eaglecfg.rules.upgrade import Upgrade, look_ahead
from eaglecfg.source.document import Document


def compare(documents: Sequence[Document], given: str, options: Options, outputs: Outputs) -> int:
    """Print what changes between the versions in ``given`` (``A,B,...``) and return the exit code."""
    versions = [part.strip() for part in given.split(",")]
    if not all(versions):
        raise UsageError(f"--engine-version takes versions with commas between them (A,B), got {given!r}")
    upgrade = look_ahead(documents, versions, **options)
    fail_on = outputs.shown.fail_on
    for form, path in outputs.targets:
        text = _json(upgrade, fail_on) if form == "json" else plain(_lines(upgrade, form, fail_on, WIDEST))
        outputs.to_file(path, text)
    if outputs.form == "json":
        click.echo(_json(upgrade, fail_on), nl=False)
    else:
        write(_lines(upgrade, outputs.form, fail_on, columns()), outputs.color)
    return exit_code(upgrade, fail_on)


def _json(upgrade: Upgrade, fail_on: Severity) -> str:
    return as_json(upgrade, fail_on, version=__version__)


def _lines(upgrade: Upgrade, form: str, fail_on: Severity, width: int) -> list[Line]:
    if form == "concise":
        from eaglecfg.report.upgrade_concise import render as concise

        return concise(upgrade)
    return render(upgrade, fail_on, version=__version__, width=width)
