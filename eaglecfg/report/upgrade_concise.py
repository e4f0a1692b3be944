"""What changes from one engine version to the next, one line for each difference."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.report.styled import Line, line, visible
from eaglecfg.report.upgrade import capture_words, setting_words
from eaglecfg.rules.outcome import Reported
from eaglecfg.rules.upgrade import Difference, Upgrade


def render(upgrade: Upgrade) -> list[Line]:
    """``file:line:col: A → B: deployment: what changes``; no line where nothing does."""
    return [row for each in upgrade.differences for row in _rows(upgrade, each)]


def _rows(upgrade: Upgrade, change: Difference) -> Iterator[Line]:
    file, deployment = change.place
    step = f"{change.before} → {change.after}: " + (f"{deployment}: " if deployment is not None else "")
    if change.boundaries is not None:
        words = [
            capture_words(view.contexts[change.place]) or "not known"
            for version in (change.before, change.after)
            for view in upgrade.views
            if view.version == version
        ]
        yield line(visible(f"{file}: {step}captures {' → '.join(words)}"))
    for old, new in change.settings:
        yield line(visible(f"{file}: {step}{new.name}: {setting_words(old)} → {setting_words(new)}"))
    for word, findings in (("appears", change.appear), ("vanishes", change.vanish)):
        for found in findings:
            yield _finding(step, word, found)
    for _, found in change.differ:
        yield _finding(step, "says something else", found)


def _finding(step: str, word: str, found: Reported) -> Line:
    where = f"{found.document.name}:{found.span.start.line}:{found.span.start.column}"
    text = f"{found.severity}[{found.rule.id}] {word}: {found.finding.message}"
    return line(visible(f"{where}: {step}{text}"))
