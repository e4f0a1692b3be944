"""Findings about something that stands in the file under another name than the engine reads."""

from __future__ import annotations

from eaglecfg.record import replace
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding


def with_copied(finding: Finding, context: Context) -> Finding:
    """``finding``, with the old name of a variable that it is about."""
    paths = (finding.path, *(path for path, _ in finding.related))
    for new, old in context.copied.items():
        if new in finding.message and context.where("env", new) in paths:
            said = f" ({old} in the file, which sglang copies to {new})"
            return replace(finding, message=finding.message + said)
    return finding
