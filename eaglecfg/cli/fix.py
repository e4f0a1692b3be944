"""``eaglecfg fix``."""

from __future__ import annotations

import os.path
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from eaglecfg.cli.files import check_writable, write_whole
from eaglecfg.cli.output import color_option, hub_settings, read_files, split_names, traceback_option
from eaglecfg.cli.output import tell as tell_line
from eaglecfg.errors import ConfigUnreadable, UsageError
from eaglecfg.rules.context import Checkpoints
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.registry import matching
from eaglecfg.rules.runner import validate
from eaglecfg.source.document import Document
from eaglecfg.source.limits import MAX_BYTES
from eaglecfg.source.read import read_bytes

if TYPE_CHECKING:
    from eaglecfg.source.patch import PatchNames

STDIN = "-"
MARK = b"\xef\xbb\xbf"


@click.command("fix")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--diff", is_flag=True, help="Print what would change, and change nothing.")
@click.option("--select", multiple=True, metavar="RULE", help="Fix findings of these rules only.")
@click.option(
    "--unsafe", is_flag=True, help="Make fixes as well that change what runs; read them first, with --diff."
)
@click.option("--deep", is_flag=True, help="Open every shard of every checkpoint.")
@click.option("--fix-only", is_flag=True, help="Exit 0 whatever findings are left, and say nothing of them.")
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "info"]),
    default="error",
    show_default=True,
    help="The least severe finding left that gives exit code 1.",
)
@color_option
@traceback_option
def command(
    files: tuple[str, ...],
    diff: bool,
    select: tuple[str, ...],
    unsafe: bool,
    deep: bool,
    fix_only: bool,
    fail_on: str,
    color: str,
) -> int:
    """Write the fixes that a machine can make into config and study files.

    Made are those after which the same runs as before: the same arguments as the engine settles them, the
    same values as NCCL reads them. What would change that, a slip whose meaning is clear among it, takes
    --unsafe.

    Changes FILE, or the eaglecfg.yaml of this folder, in place: comments, quotes, anchors and layout stay. Of
    a line that is taken out the comment behind the value goes too, comments on lines of their own stay.
    Checkpoints are never touched. - reads from stdin and writes the text to stdout, fixed where it can be.

    Exit codes: 0 nothing is left, 1 findings are left (with --select: of these rules), or with --diff
    changes would be made; 3 something could not be checked; others as for validate.
    """
    from eaglecfg.cli.fix_output import left_over, tell, tell_base, unread
    from eaglecfg.review.fix import fix

    documents, stdin = _read(files)
    originals = {document.name: _original(document, stdin) for document in documents}
    names = split_names(select, "--select")
    chosen = frozenset(rule.id for name in names for rule in matching(name))
    checkpoints = Checkpoints(deep, hub_settings())
    fixed = fix(
        documents,
        lambda each: validate(each, checkpoints=checkpoints),
        select=chosen,
        unsafe=unsafe,
        checkpoints=checkpoints,
    )
    changed = [pair for pair in zip(documents, fixed.documents, strict=True) if pair[0].text != pair[1].text]
    left, open_checks = left_over(fixed.report, Severity(fail_on), chosen), unread(fixed.report, chosen)
    if not diff:
        # Before anything is written; a file with nothing to fix need not be writable.
        for name in [before.name for before, _ in changed if before.name != STDIN]:
            check_writable(name, "fix --diff shows the change")
    code = _code(fixed.report, bool(left), bool(open_checks), fix_only)
    patch = _show(changed) if diff else None
    if not diff:
        _put(documents, fixed.documents, originals)
    quiet = any(document.name == STDIN for document in documents) or diff
    tell(
        fixed, len(changed), left=left, open_checks=open_checks, chosen=chosen, fix_only=fix_only,
        diff=diff, quiet=quiet, color=color,
    )  # fmt: skip
    if patch is not None:
        tell_base(patch)
    return max(code, 1) if diff and changed and code in (0, 1) else code


def _read(files: Sequence[str]) -> tuple[list[Document], bytes]:
    """The documents, each file once whatever its names, and the bytes of stdin where that is one of them.

    Raises UsageError, also for what is there and no regular file: opening a pipe would wait for a writer.
    """
    for name in files:
        path = Path(name)
        if name != STDIN and "\0" not in name and path.exists() and not path.is_file() and not path.is_dir():
            raise UsageError(f"{name}: only a regular file can be fixed; - reads from stdin")
    if STDIN not in files:
        found = read_files(files)
        # Two names of one file would be two copies to edit.
        return list({os.path.realpath(each.name): each for each in reversed(found)}.values())[::-1], b""
    if len(set(files)) > 1:
        raise UsageError("- writes the text to stdout and goes with no other file; run fix once for each")
    raw = sys.stdin.buffer.read() if sys.stdin is not None else b""
    try:
        return [read_bytes(raw[: MAX_BYTES + 1], STDIN, str(Path.cwd()))], raw
    except ConfigUnreadable:
        # A filter hands on what it cannot work on; whoever writes it back must not lose the text.
        click.echo(raw, nl=False)
        raise


def _original(document: Document, stdin: bytes) -> bytes:
    """The bytes that ``document`` was read from. Raises ConfigUnreadable."""
    if document.name == STDIN:
        return stdin
    raw = Path(document.name).read_bytes()
    if raw.removeprefix(MARK).decode("utf-8", "replace") != document.text and document.data is not None:
        raise ConfigUnreadable(f"{document.name}: the file changed while it was read; try again")
    return raw


def _show(changed: Sequence[tuple[Document, Document]]) -> PatchNames | None:
    """Print what would change, as one patch; what its names count from, None where stdin has none.

    Secrets in lines that it repeats stay, or no tool could apply it; that there are some is told.
    """
    from eaglecfg.cli.fix_output import tell_secrets
    from eaglecfg.source.patch import lines_shown, patch_names, patch_of

    names = patch_names([before.name for before, _ in changed if before.name != STDIN])
    shown = names.names or ("stdin",)
    for (before, after), name in zip(changed, shown, strict=False):
        text = patch_of(before.text, after.text, name, git=names.git)
        click.echo(text.encode("utf-8", "backslashreplace"), nl=False)
        tell_secrets(before, lines_shown(text))
    return names if names.names else None


def _put(before: Sequence[Document], after: Sequence[Document], originals: dict[str, bytes]) -> None:
    """Write what changed. Stdin's text goes to stdout, changed or not."""
    for old, new in zip(before, after, strict=True):
        raw = originals[old.name]
        mark = MARK if raw.startswith(MARK) else b""
        content = mark + new.text.encode("utf-8", "surrogateescape") if old.text != new.text else raw
        if old.name == STDIN:
            click.echo(content, nl=False)
        elif content != raw:
            path = Path(old.name)
            if path.read_bytes() != raw:
                raise UsageError(f"{old.name}: the file changed since it was read; run fix once more")
            links = path.stat().st_nlink
            write_whole(path, content)
            if links > 1:
                others = "the other one keeps" if links == 2 else f"the other {links - 1} keep"
                tell_line(f"{old.name}: it was a hard link; {others} the old text")


def _code(report: Report, left: bool, unread: bool, fix_only: bool) -> int:
    """The exit code for what is left; that of the whole report for what cannot be worked on at all."""
    code = report.exit_code()
    if code in (2, 4):
        return code
    return 0 if fix_only else 1 if left else 3 if unread else 0
