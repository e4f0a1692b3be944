"""``eaglecfg diff``: what changes in effect between two states of the config."""

from __future__ import annotations

import os.path
import tempfile
from contextlib import ExitStack
from pathlib import Path

import click

from eaglecfg import __version__
from eaglecfg.cli.output import (
    color_option,
    columns,
    hub_settings,
    json_errors,
    split_names,
    traceback_option,
    write,
)
from eaglecfg.errors import UsageError
from eaglecfg.review.difference.checkpoints import read_at_revision
from eaglecfg.review.difference.compare import compare
from eaglecfg.review.difference.revision import open_revision, split_spelling
from eaglecfg.review.difference.sides import open_side
from eaglecfg.rules.context import Checkpoints
from eaglecfg.rules.model import Severity


@click.command("diff")
@click.argument("before", metavar="A")
@click.argument("after", metavar="[B]", required=False)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    show_default=True,
    help="How to print the comparison; markdown is a comment for a pull request.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "info"]),
    default="error",
    show_default=True,
    help="The least severe new finding that gives exit code 1.",
)
@click.option("--exit-code", is_flag=True, help="Exit 1 on any change in effect, as `git diff` does.")
@click.option("--select", multiple=True, metavar="RULE", help="Compare findings of these rules only.")
@click.option("--ignore", multiple=True, metavar="RULE", help="Leave these rules out.")
@color_option
@traceback_option
@json_errors
def command(
    before: str,
    after: str | None,
    form: str,
    fail_on: str,
    exit_code: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    color: str,
) -> int:
    """Show what changes in effect from A to B: not the text, but what it comes to.

    A and B are files, folders, or a file or folder of a git revision (HEAD:eaglecfg.yaml, main:deploy,
    main: for the whole tree, :eaglecfg.yaml for what is staged). Without B, the working tree's file of the
    same name. Of a folder all eaglecfg.yaml and studies/*.yaml are compared.

    Told are: captured boundaries, fc width, resolved settings, environment, checkpoints, the launch command,
    findings introduced and fixed, recorded results that no longer hold. Exit codes: 0 no new finding, 1 new
    findings, 2 unreadable, 3 incomplete.
    """
    here, severity = Path.cwd(), Severity(fail_on)
    options = {"select": split_names(select, "--select"), "ignore": split_names(ignore, "--ignore")}
    hub = hub_settings()
    with ExitStack() as stack:
        sides = []
        for spelled in (before, _other(before) if after is None else after):
            side = open_side(spelled, here, Checkpoints(hub=hub))
            if side.revision is not None:
                scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="eaglecfg-diff-"))
                read_at_revision(side, side.revision, Path(scratch))
            sides.append(side)
        _refuse_mixture(sides[0].folder, sides[1].folder, before, after or "")
        comparison = compare(sides[0], sides[1], **options)
    code = comparison.exit_code(severity, any_change=exit_code)
    if form == "json":
        from eaglecfg.review.difference.machine import as_json

        click.echo(as_json(comparison, severity, code, version=__version__), nl=False)
    elif form == "markdown":
        from eaglecfg.review.difference.markdown import render as markdown

        click.echo(markdown(comparison, severity, code), nl=False)
    else:
        from eaglecfg.review.difference.text import render

        write(render(comparison, severity, code, version=__version__, width=columns()), color)
    return code


def _other(before: str) -> str:
    """The working tree's file that ``before`` names in a revision."""
    divided = split_spelling(before)
    if divided is None or Path(before).exists():
        raise UsageError(
            f"{before} has to be compared with something: eaglecfg diff {before} OTHER, "
            f"or eaglecfg diff HEAD:{before}"
        )
    revision = open_revision(divided[0], Path.cwd())
    return os.path.relpath(revision.root / revision.path(divided[1]), Path.cwd())


def _refuse_mixture(one: bool, other: bool, before: str, after: str) -> None:
    if one is not other:
        raise UsageError(
            f"{before} is a {'folder' if one else 'file'} and {after} a {'folder' if other else 'file'}; "
            "compare two files or two folders"
        )
