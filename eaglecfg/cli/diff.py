"""``eaglecfg diff``: what changes in effect between two states of the config."""

from __future__ import annotations

import os.path
import tempfile
from collections.abc import Callable, Sequence
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
from eaglecfg.review.difference.sides import Side, open_side
from eaglecfg.rules.context import Checkpoints
from eaglecfg.rules.model import Severity
from eaglecfg.rules.registry import chosen
from eaglecfg.schema.load_study import kind_of
from eaglecfg.source.document import Document


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
@click.option("--require", multiple=True, metavar="RULE", help="Exit 3 if B leaves one of these undecided.")
@click.option("--strict", is_flag=True, help="Exit 3 if B leaves any rule undecided, or anything unread.")
@click.option("--deployment", "-d", multiple=True, help="Compare this deployment only; may be repeated.")
@click.option("--deep", is_flag=True, help="Open every shard of every checkpoint.")
@click.option(
    "--online", is_flag=True, help="Fetch config files and tensor headers of hub ids; never weights."
)
@click.option(
    "--file",
    "files",
    multiple=True,
    metavar="NAME",
    help="Of folders, compare this file, whatever its name; may be repeated.",
)
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
    require: tuple[str, ...],
    strict: bool,
    deployment: tuple[str, ...],
    deep: bool,
    online: bool,
    files: tuple[str, ...],
    color: str,
) -> int:
    """Show what changes in effect from A to B: not the text, but what it comes to.

    A and B are files, folders, or a file or folder of a git revision (HEAD:eaglecfg.yaml, main:deploy,
    main: for the whole tree, :eaglecfg.yaml for what is staged). Without B, the working tree's file of the
    same name. Of a folder all eaglecfg.yaml and studies/*.yaml are compared, or each --file.

    Told are: captured boundaries, fc width, resolved settings, environment, checkpoints, the launch command,
    findings introduced and fixed, recorded results that no longer hold. Exit codes: 0 no new finding, 1 new
    findings, 2 unreadable, 3 something that A did not leave unread is unread in B, or a finding is not known
    to be new, as A could not be read.
    """
    severity = Severity(fail_on)
    wanted, unwanted = split_names(select, "--select"), split_names(ignore, "--ignore")
    required = split_names(require, "--require")
    if strict:
        required = [rule.id for rule in chosen(wanted, unwanted)]
    hub = hub_settings(online=online)
    spelled = before, _other(before) if after is None else after
    with tempfile.TemporaryDirectory(prefix="eaglecfg-diff-") as scratch:
        sides = _sides(spelled, files, lambda: Checkpoints(deep, hub), Path(scratch))
        comparison = compare(
            sides[0],
            sides[1],
            select=wanted,
            ignore=unwanted,
            require=required,
            deployments=deployment,
        )
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


def _sides(
    spelled: Sequence[str], files: Sequence[str], checkpoints: Callable[[], Checkpoints], scratch: Path
) -> list[Side]:
    """Both states; what revisions hold is laid out below ``scratch``."""
    here = Path.cwd()
    names = list(dict.fromkeys(_inside(name, spelled[1]) for name in files))
    sides = [open_side(each, here, checkpoints(), names) for each in spelled]
    _refuse(sides, names)
    for side, other, folder in zip(sides, reversed(sides), ("before", "after"), strict=True):
        if side.revision is not None:
            side.other = other.revision or open_revision("", here)
            (scratch / folder).mkdir()
            read_at_revision(side, side.revision, scratch / folder)
    return sides


def _other(before: str) -> str:
    """The working tree's file that ``before`` names in a revision."""
    divided = split_spelling(before)
    if Path(before).exists():
        raise UsageError(
            f"{before} has to be compared with something: eaglecfg diff {before} OTHER, "
            f"or eaglecfg diff HEAD:{before}"
        )
    if divided is None:
        raise UsageError(
            f"{before} is no file or folder here; of a git revision of that name write {before}: for all of "
            f"it, or {before}:eaglecfg.yaml for a file in it"
        )
    revision = open_revision(divided[0], Path.cwd())
    return os.path.relpath(revision.root / revision.path(divided[1]), Path.cwd())


def _inside(name: str, folder: str) -> str:
    """A --file as both sides have it: relative to their folders."""
    if not name or "\0" in name:
        raise UsageError("--file takes the name of a config or study file, got an empty one")
    if not os.path.isabs(name):  # noqa: PTH117
        return os.path.normpath(name)
    divided = None if os.path.lexists(folder) else split_spelling(folder)
    if divided is None:
        return os.path.relpath(name, folder)
    revision = open_revision(divided[0], Path.cwd())
    return os.path.relpath(name, revision.root / revision.path(divided[1]))


def _refuse(sides: Sequence[Side], names: Sequence[str]) -> None:
    """Raise UsageError for two names that leave nothing to compare."""
    one, other = sides
    if one.folder is not other.folder:
        raise UsageError(
            f"{one.spelled} is a {'folder' if one.folder else 'file'} and {other.spelled} a "
            f"{'folder' if other.folder else 'file'}; compare two files or two folders"
        )
    if names and not one.folder:
        raise UsageError("--file names files of two folders; name the folders, or the two files alone")
    for side in sides:
        for document in side.documents.values() if side is other or not side.folder else ():
            _refuse_another_kind(document)
    lacking = [name for name in names if name not in one.documents and name not in other.documents]
    if lacking:
        raise UsageError(f"neither {one.spelled} nor {other.spelled} has {lacking[0]}, which --file names")
    if not one.documents and not other.documents:
        raise UsageError(
            f"neither {one.spelled} nor {other.spelled} has an eaglecfg.yaml or studies/*.yaml, so there is "
            "nothing to compare; name two files, or name files of the folders with --file"
        )


def _refuse_another_kind(document: Document) -> None:
    """Raise UsageError for a mapping that is another file's: nothing in it would ever differ in effect. What
    is no mapping at all has a sentence of its own."""
    if not isinstance(document.data, dict) or kind_of(document) is not None:
        return
    if "settings" in document.data and "verdict" in document.data:
        what = "the result of a study"
    else:
        keys = ", ".join(str(key) for key in list(document.data)[:6])
        what = f"a file with {f'the keys {keys}' if keys else 'no keys'}"
    raise UsageError(
        f"{document.name}: expected a config (deployments, engine, defaults) or a study file (config, "
        f"launch, space, workload), got {what}; diff compares nothing else"
    )
