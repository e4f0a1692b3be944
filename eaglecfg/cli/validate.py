"""``eaglecfg validate``."""

from __future__ import annotations

import click

from eaglecfg import __version__
from eaglecfg.cli.output import (
    color_option,
    columns,
    hub_settings,
    json_errors,
    read_files,
    split_names,
    traceback_option,
    write,
)
from eaglecfg.errors import UsageError
from eaglecfg.report.shown import Shown
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.registry import chosen
from eaglecfg.rules.runner import Options, validate


@click.command("validate")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--deployment", "-d", multiple=True, help="Check this deployment only; may be repeated.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "concise", "json"]),
    default="text",
    show_default=True,
    help="How to print the report.",
)
@color_option
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "info"]),
    default="error",
    show_default=True,
    help="The least severe finding that gives exit code 1.",
)
@click.option("--select", multiple=True, metavar="RULE", help="Run these rules only (id, slug or EC2).")
@click.option("--ignore", multiple=True, metavar="RULE", help="Leave these rules out.")
@click.option("--require", multiple=True, metavar="RULE", help="Exit 3 if one of these could not be checked.")
@click.option("--strict", is_flag=True, help="Exit 3 if any rule could not be checked.")
@click.option("--deep", is_flag=True, help="Open every shard of every checkpoint.")
@click.option(
    "--online", is_flag=True, help="Fetch config files and tensor headers of hub ids; never weights."
)
@click.option(
    "--engine-version",
    metavar="A,B,...",
    help="Compare engine versions: what changes from each to the next; one alone with the file's.",
)
@click.option(
    "--with-engine", is_flag=True, help="Ask the installed engine too what it makes of the arguments."
)
@click.option(
    "--engine-python", metavar="PYTHON", help="The Python that has it, with --with-engine; default: ours."
)
@click.option("--verbose", "-v", is_flag=True, help="Show findings of severity info in full as well.")
@click.option("--quiet", "-q", is_flag=True, help="Print the findings and the verdict only.")
@traceback_option
@json_errors
def command(
    files: tuple[str, ...],
    deployment: tuple[str, ...],
    form: str,
    color: str,
    fail_on: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    require: tuple[str, ...],
    strict: bool,
    deep: bool,
    online: bool,
    engine_version: str | None,
    with_engine: bool,
    engine_python: str | None,
    verbose: bool,
    quiet: bool,
) -> int:
    """Check config and study files against the checkpoints and the engine they name.

    Reads FILE, or the eaglecfg.yaml of this folder. Needs no GPU, loads no weights. Hub ids are
    looked for in the local hub cache; nothing is asked of the network without --online.
    """
    wanted, unwanted = split_names(select, "--select"), split_names(ignore, "--ignore")
    required = split_names(require, "--require")
    if strict:
        required = [rule.id for rule in chosen(wanted, unwanted)]
    documents, severity = read_files(files), Severity(fail_on)
    options: Options = {
        "select": wanted,
        "ignore": unwanted,
        "require": required,
        "deployments": deployment,
        "deep": deep,
        "hub": hub_settings(online=online),
    }
    if engine_python is not None and not with_engine:
        raise UsageError("--engine-python names the engine that --with-engine asks; give both")
    if engine_version is not None:
        if with_engine:
            raise UsageError("--with-engine asks the installed version alone; leave --engine-version out")
        from eaglecfg.cli.versions import compare

        return compare(documents, engine_version, options, form, color, severity)
    ask = None
    if with_engine:
        from eaglecfg.cli.with_engine import asker

        ask = asker(engine_python)
    report = validate(documents, ask=ask, **options)
    _write(report, form, color, Shown(severity, verbose, quiet))
    return report.exit_code(severity)


def _write(report: Report, form: str, color: str, shown: Shown) -> None:
    if form == "json":
        from eaglecfg.report.machine import to_json

        click.echo(to_json(report, shown.fail_on, version=__version__), nl=False)
    elif form == "concise":
        from eaglecfg.report.concise import render as concise

        write(concise(report), color)
    else:
        from eaglecfg.report.text import render

        write(render(report, shown, version=__version__, width=columns()), color)
