"""Findings about something that stands under another name, or in another file, than where they point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eaglecfg.record import replace
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Fix
from eaglecfg.source.span import KeyPath

if TYPE_CHECKING:
    from eaglecfg.engines.settings_file import SettingsFile


def with_copied(finding: Finding, context: Context) -> Finding:
    """``finding``, with the old name of a variable that it is about."""
    paths = (finding.path, *(path for path, _ in finding.related))
    for new, old in context.copied.items():
        if new in finding.message and context.where("env", new) in paths:
            said = f" ({old} in the file, which sglang copies to {new})"
            return replace(finding, message=finding.message + said)
    return finding


def with_settings_file(finding: Finding, file: SettingsFile) -> Finding:
    """``finding``, with the lines of the settings file that it is about; it points at that file's name.

    No fix of it is left that writes there: changes are made in the document alone.
    """
    inside = [path for path in (finding.path, *(path for path, _ in finding.related)) if below(path, file)]
    if not inside:
        return finding
    evidence = list(finding.evidence)
    for path in dict.fromkeys(inside):
        key = str(path[len(file.path)])
        line, column = file.lines[key]
        evidence.append(Evidence(file.name, key.replace("_", "-"), "set here", "", line, column))
    related = tuple((path, note) for path, note in finding.related if not below(path, file))
    path = file.path if below(finding.path, file) else finding.path
    fix = finding.fix if finding.fix is None or not _writes(finding.fix, file) else None
    at_key, span = (False, None) if path is file.path else (finding.at_key, finding.span)
    return replace(
        finding, path=path, at_key=at_key, span=span, evidence=tuple(evidence), related=related, fix=fix
    )


def below(path: KeyPath, file: SettingsFile) -> bool:
    """Whether ``path``, in document terms, is that of a setting which ``file`` gives."""
    depth = len(file.path)
    return path[:depth] == file.path and len(path) > depth and path[depth] in file.lines


def _writes(fix: Fix, file: SettingsFile) -> bool:
    return below(fix.path, file) or any(_writes(one, file) for one in fix.also)
