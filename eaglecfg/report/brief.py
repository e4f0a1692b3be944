"""Findings that are only worth knowing: two lines each, and one for deployments that share them."""

from __future__ import annotations

from collections.abc import Sequence

from eaglecfg.report.styled import Line, Part, line, visible, wrapped
from eaglecfg.rules.outcome import Reported

MOST_PLACES = 3
"""Places, or deployments, that one line names; the others are counted."""


def brief(findings: Sequence[Reported], name_deployments: bool, width: int) -> list[Line]:
    """What each says and what to do, an empty line after the last."""
    alike: dict[tuple[str, str, str], list[Reported]] = {}
    for found in findings:
        alike.setdefault((found.rule.id, found.finding.message, found.finding.help), []).append(found)
    out: list[Line] = []
    for group in alike.values():
        first = group[0]
        head = Part(f"{first.severity}[{first.rule.id} {first.rule.slug}]", "info")
        text = f"{first.finding.message} ({_places(group, name_deployments)})"
        out += wrapped(line(head), visible(text), width, "  ")
        if first.finding.help:
            out += wrapped(
                line(Part("   = ", "place"), "help:"), visible(first.finding.help), width, " " * 11
            )
    return [*out, ()] if out else []


def _places(group: Sequence[Reported], name_deployments: bool) -> str:
    places = [f"{each.document.name}:{each.span.start.line}:{each.span.start.column}" for each in group]
    text = _some(list(dict.fromkeys(places)))
    names = list(dict.fromkeys(each.deployment for each in group if each.deployment is not None))
    if not names or not name_deployments:
        return text
    return f"{text}; {'deployments' if len(names) > 1 else 'deployment'} {_some(names)}"


def _some(names: Sequence[str]) -> str:
    rest = len(names) - MOST_PLACES
    return ", ".join(names[:MOST_PLACES]) + (f" and {rest} more" if rest > 0 else "")
