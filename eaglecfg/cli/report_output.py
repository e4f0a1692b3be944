"""Where reports go: ``--format`` for stdout, ``--output FORMAT=PATH`` for files; errors in their place."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from eaglecfg import __version__
from eaglecfg.cli.output import WIDEST, color_option, columns, tell, write
from eaglecfg.errors import EaglecfgError, UsageError
from eaglecfg.report.shown import Shown
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Report

FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "markdown")
COMPARED = ("text", "concise", "json")
"""Formats that several engine versions side by side have."""

F = TypeVar("F", bound=Callable[..., Any])
Target = tuple[str, str]
"""A format and the path of the file that takes it."""


def report_options(function: F) -> F:
    """The options about a report; the command gets them as one ``outputs``."""

    @click.option(
        "--format",
        "form",
        type=click.Choice(FORMATS),
        help="How to print the report; default: text.",
    )
    @click.option(
        "--output",
        "-o",
        multiple=True,
        metavar="FORMAT=PATH",
        help="Write the report to a file as well (sarif=report.sarif); may be repeated, - is stdout.",
    )
    @color_option
    @click.option(
        "--fail-on",
        type=click.Choice(["error", "warning", "info"]),
        default="error",
        show_default=True,
        help="The least severe finding that gives exit code 1.",
    )
    @click.option(
        "--verbose", "-v", is_flag=True, help="Show findings of severity info in full, and suppressed ones."
    )
    @click.option("--quiet", "-q", is_flag=True, help="Print the findings and the verdict only.")
    @wraps(function)
    def command(
        *,
        form: str | None,
        output: tuple[str, ...],
        color: str,
        fail_on: str,
        verbose: bool,
        quiet: bool,
        **given: Any,
    ) -> Any:
        outputs = Outputs(form or "text", color, Shown(Severity(fail_on), verbose, quiet))
        outputs.files = given.get("files", ())
        try:
            outputs.take(output, asked=form is not None)
            return function(outputs=outputs, **given)
        except EaglecfgError as error:
            outputs.instead(error)
            raise

    return cast(F, command)


class Outputs:
    """What a run writes: one report to stdout, and any number to files."""

    def __init__(self, form: str, color: str, shown: Shown) -> None:
        self.form = form
        self.color = color
        self.shown = shown
        self.targets: tuple[Target, ...] = ()
        self.files: Sequence[str] = ()

    def take(self, given: Sequence[str], *, asked: bool) -> None:
        """Take in what ``--output`` says. Raises UsageError where it cannot be meant.

        ``asked``: ``--format`` was given, so that stdout is taken.
        """
        if not given:
            return
        targets = [_target(each) for each in given]
        for form in [form for form, path in targets if path == "-"]:
            if asked:
                raise UsageError(f"--output {form}=- and --format {self.form} both write to stdout; keep one")
            self.form, asked = form, True
        from eaglecfg.cli.files import ready_to_write

        self.targets = ready_to_write([target for target in targets if target[1] != "-"])

    def keep_off(self, inputs: Collection[Path]) -> None:
        """Raise UsageError where a file that was read would be written over."""
        if self.targets:
            from eaglecfg.cli.files import refuse_inputs

            targets, self.targets = self.targets, ()
            refuse_inputs([path for _, path in targets], inputs)
            self.targets = targets

    def only(self, forms: Collection[str], why: str) -> None:
        """Raise UsageError where a format is asked for that is none of ``forms``."""
        for form in (self.form, *(form for form, _ in self.targets)):
            if form not in forms:
                raise UsageError(f"{why}, which {form} has no form for; use {', '.join(forms)}")

    def write(self, report: Report) -> None:
        """Write ``report`` everywhere: files first, since a reader of stdout may leave early."""
        for form, path in self.targets:
            self.to_file(path, _rendered(report, form, self.shown))
        if self.form in COMPARED[:2]:
            write(_lines(report, self.form, self.shown, columns()), self.color)
        else:
            click.echo(_rendered(report, self.form, self.shown), nl=False)

    def to_file(self, path: str, text: str) -> None:
        """Write one file and say so on stderr."""
        from eaglecfg.cli.files import write_whole

        write_whole(Path(path), text.encode("utf-8", "backslashreplace"))
        if not self.shown.quiet:
            tell(f"wrote {path}")

    def instead(self, error: EaglecfgError) -> None:
        """Put ``error`` where the reports would have been, in the formats that machines read."""
        for form, path in self.targets:
            if form not in COMPARED[:2]:
                try:
                    self.to_file(path, _error(error, form, self.files))
                except EaglecfgError:
                    continue  # the first error is the one to tell
        if self.form not in COMPARED[:2]:
            click.echo(_error(error, self.form, self.files), nl=False)


def _target(given: str) -> Target:
    form, equals, path = given.partition("=")
    if not equals or not path or form not in FORMATS:
        known = ", ".join(FORMATS)
        raise UsageError(f"--output takes FORMAT=PATH (sarif=report.sarif), got {given!r}; formats: {known}")
    return form, path


def _lines(report: Report, form: str, shown: Shown, width: int) -> Any:
    if form == "concise":
        from eaglecfg.report.concise import render as concise

        return concise(report)
    from eaglecfg.report.text import render

    return render(report, shown, version=__version__, width=width)


def _rendered(report: Report, form: str, shown: Shown) -> str:
    """The report in a format, without colours."""
    if form in COMPARED[:2]:
        from eaglecfg.report.styled import plain

        return plain(_lines(report, form, shown, WIDEST))
    if form == "json":
        from eaglecfg.report.machine import to_json

        return to_json(report, shown.fail_on, version=__version__)
    from eaglecfg.report import formats
    from eaglecfg.report.roots import roots

    return formats.render(report, form, shown.fail_on, roots(Path.cwd()), version=__version__)


def _error(error: EaglecfgError, form: str, files: Sequence[str]) -> str:
    from eaglecfg.report import formats
    from eaglecfg.report.roots import roots
    from eaglecfg.source.secrets import redact_text

    here = roots(Path.cwd())
    return formats.render_error(
        redact_text(str(error)), error.exit_code, form, here, version=__version__, files=files
    )
