"""``eaglecfg fix``."""

from __future__ import annotations

import os.path
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from eaglecfg.cli.files import check_writable, write_whole
from eaglecfg.cli.output import color_option, hub_settings, read_files, split_names, traceback_option, write
from eaglecfg.errors import ConfigUnreadable, UsageError
from eaglecfg.report.counts import counted
from eaglecfg.report.styled import Line, Part, Style, line, plain, visible
from eaglecfg.rules.context import Checkpoints
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Report, Reported
from eaglecfg.rules.registry import matching
from eaglecfg.rules.runner import validate
from eaglecfg.source.document import Document

if TYPE_CHECKING:
    from eaglecfg.review.fix import Fixed

STDIN = "-"
MARK = b"\xef\xbb\xbf"


@click.command("fix")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--diff", is_flag=True, help="Print what would change, and change nothing.")
@click.option("--select", multiple=True, metavar="RULE", help="Fix findings of these rules only.")
@click.option("--unsafe", is_flag=True, help="Make guesses as well, which have to be read first.")
@click.option("--deep", is_flag=True, help="Open every shard of every checkpoint.")
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
    fail_on: str,
    color: str,
) -> int:
    """Write the fixes that a machine can make into config and study files.

    Changes FILE, or the eaglecfg.yaml of this folder, in place: comments, quotes, anchors and layout stay.
    Checkpoints are never touched. - reads from stdin and writes the fixed text to stdout.

    Exit codes: 0 nothing is left to fix, 1 findings are left, or with --diff changes would be made;
    others as for validate.
    """
    from eaglecfg.review.fix import fix

    # Two names of one file would be two copies to edit.
    documents = list({os.path.realpath(each.name): each for each in reversed(read_files(files))}.values())[
        ::-1
    ]
    for document in documents:
        if document.name != STDIN and not Path(document.name).is_file():
            raise UsageError(f"{document.name}: only a regular file can be fixed; - reads from stdin")
        if document.name != STDIN and not diff:
            check_writable(document.name)
    originals = {document.name: _original(document) for document in documents}
    names = split_names(select, "--select")
    chosen = frozenset(rule.id for name in names for rule in matching(name))
    checkpoints = Checkpoints(deep, hub_settings())
    fixed = fix(documents, lambda each: validate(each, checkpoints=checkpoints), select=chosen, unsafe=unsafe)
    changed = [pair for pair in zip(documents, fixed.documents, strict=True) if pair[0].text != pair[1].text]
    code = _code(fixed.report, Severity(fail_on), chosen)
    if diff:
        _show(changed)
    else:
        _put(documents, fixed.documents, originals)
    quiet = any(document.name == STDIN for document in documents) or diff
    _tell(fixed, len(changed), diff, color, quiet=quiet)
    return max(code, 1) if diff and changed and code in (0, 1) else code


def _original(document: Document) -> bytes | None:
    """The bytes that ``document`` was read from; None for stdin. Raises ConfigUnreadable."""
    if document.name == STDIN:
        return None
    raw = Path(document.name).read_bytes()
    if raw.removeprefix(MARK).decode("utf-8", "replace") != document.text and document.data is not None:
        raise ConfigUnreadable(f"{document.name}: the file changed while it was read; try again")
    return raw


def _show(changed: Sequence[tuple[Document, Document]]) -> None:
    from eaglecfg.source.patch import patch_name, patch_of

    for before, after in changed:
        name = "stdin" if before.name == STDIN else patch_name(before.name)
        click.echo(patch_of(before.text, after.text, name).encode("utf-8", "backslashreplace"), nl=False)


def _put(before: Sequence[Document], after: Sequence[Document], originals: dict[str, bytes | None]) -> None:
    """Write what changed. Stdin's text goes to stdout, changed or not."""
    for old, new in zip(before, after, strict=True):
        raw = originals[old.name]
        if raw is None:
            mark = MARK if any(each.kind == "byte-order-mark" for each in old.problems) else b""
            click.echo(mark + new.text.encode("utf-8", "surrogateescape"), nl=False)
        elif old.text != new.text:
            if Path(old.name).read_bytes() != raw:
                raise UsageError(f"{old.name}: the file changed since it was read; run fix once more")
            mark = MARK if raw.startswith(MARK) else b""
            write_whole(Path(old.name), mark + new.text.encode("utf-8"))


def _code(report: Report, fail_on: Severity, chosen: frozenset[str]) -> int:
    code = report.exit_code(fail_on)
    if code != 1 or not chosen:
        return code
    order = [Severity.INFO, Severity.WARNING, Severity.ERROR]
    left = (found for found in report.findings if found.rule.id in chosen)
    return int(any(order.index(found.severity) >= order.index(fail_on) for found in left))


def _tell(fixed: Fixed, files: int, diff: bool, color: str, *, quiet: bool) -> None:
    """What was made, what was left and why; on stderr where stdout holds the text itself."""
    done = "would fix" if diff else "fixed"
    out: list[Line] = []
    for found in fixed.made:
        out.append(_row(done, "good", found))
    for left in fixed.left:
        out.append(_row("left", "warning", left.found, left.reason))
    fixes = "1 fix" if len(fixed.made) == 1 else f"{len(fixed.made):,} fixes"
    said = f"{fixes} in {counted(files, 'file')}"
    rest = [f"{counted(fixed.report.count(Severity.ERROR), 'error')} left"]
    rest += [f"{counted(fixed.report.count(Severity.WARNING), 'warning')} left"]
    rest += [f"{fixed.unsafe} more with --unsafe"] if fixed.unsafe else []
    out.append(line(Part(f"{said} · {' · '.join(rest)}", "bold")))
    if quiet:
        click.echo(plain(out), err=True, nl=False)
    else:
        write(out, color)


def _row(word: str, style: Style, found: Reported, reason: str = "") -> Line:
    fix = found.finding.fix
    assert fix is not None
    text = f"{found.rule.id} {fix.title}" + (f": {reason}" if reason else "")
    where = f"{found.document.name}:{found.span.start.line}"
    return line(Part(word, style), f" {visible(where)}: {visible(text)}")
