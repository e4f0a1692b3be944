"""The formats that code hosts and machines read, by name."""

from __future__ import annotations

from collections.abc import Sequence

from eaglecfg.report.roots import Roots
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Report

DEFAULT_FILE = "eaglecfg.yaml"
"""What a run looks at that names no file."""


def render(report: Report, form: str, fail_on: Severity, roots: Roots, *, version: str) -> str:
    """``report`` as json, sarif, github, gitlab or markdown. ``version`` is the tool's own."""
    match form:
        case "sarif":
            from eaglecfg.report.sarif import to_sarif

            return to_sarif(report, fail_on, roots, version=version)
        case "github":
            from eaglecfg.report.github import to_github

            return to_github(report, fail_on, roots)
        case "gitlab":
            from eaglecfg.report.gitlab import to_gitlab

            return to_gitlab(report, roots)
        case "markdown":
            from eaglecfg.report.markdown import to_markdown

            return to_markdown(report, fail_on, roots, version=version)
    from eaglecfg.report.machine import to_json

    return to_json(report, fail_on, version=version)


def render_error(
    message: str, code: int, form: str, roots: Roots, *, version: str, files: Sequence[str] = ()
) -> str:
    """What stands in place of a report where a file or an option could not be used.

    ``files`` are those that the run was asked to look at: some formats have to name one.
    """
    match form:
        case "sarif":
            from eaglecfg.report.sarif import error_sarif

            return error_sarif(message, code, version=version)
        case "github":
            from eaglecfg.report.github import error_github

            return error_github(message)
        case "gitlab":
            from eaglecfg.report.gitlab import error_gitlab

            return error_gitlab(message, _meant(message, files), roots)
        case "markdown":
            from eaglecfg.report.markdown import error_markdown

            return error_markdown(message)
    from eaglecfg.report.machine import error_json

    return error_json(message, code, version=version)


def _meant(message: str, files: Sequence[str]) -> str:
    """The file that an error is about: the one that it begins with, else the first that was named."""
    spoken = (name for name in sorted(files, key=len, reverse=True) if message.startswith(f"{name}: "))
    return next(spoken, files[0] if files else DEFAULT_FILE)
