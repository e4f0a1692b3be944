"""What ``eaglecfg explain`` prints about one rule."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from eaglecfg.report.styled import Line, Part, line, wrapped
from eaglecfg.report.text import render_findings
from eaglecfg.rules.examples import RuleDocs
from eaglecfg.rules.model import Rule
from eaglecfg.rules.outcome import Report


def render(
    rule: Rule, docs: RuleDocs, examples: Sequence[tuple[str, bool, Report]], width: int
) -> list[Line]:
    """The whole explanation. ``examples`` are (title, whether it fails, the report of really running it)."""
    out = [line(Part(f"{rule.id} {rule.slug}", "bold"), "  ", Part(rule.severity.value, rule.severity.value))]
    out += _paragraphs(docs.summary, width, "")
    for title, text in (
        ("What it checks", docs.what),
        ("Why it matters", docs.why),
        ("How to fix it", docs.fix),
    ):
        out += [(), line(Part(title, "bold")), *_paragraphs(text, width, "  ")]
    facts = [f"what the engine does today: {rule.today}"]
    if rule.needs:
        facts.append(f"needs: {', '.join(rule.needs)}")
    if rule.follows:
        facts.append(f"left out when one of these failed: {', '.join(rule.follows)}")
    out += [(), line(Part("Facts", "bold")), *(row for fact in facts for row in _item(fact, width))]
    if docs.references:
        out += [
            (),
            line(Part("References", "bold")),
            *(row for each in docs.references for row in _item(each, width)),
        ]
    for title, fails, report in examples:
        word = Part("Fails", "error") if fails else Part("Passes", "good")
        out += [(), line(word, f": {title}")]
        if fails:
            out += [(), *render_findings(report, width, only=rule)]
    return out


def _item(text: str, width: int) -> list[Line]:
    return wrapped(line(" "), text, width, "    ")


def _paragraphs(text: str, width: int, indent: str) -> list[Line]:
    out: list[Line] = []
    for index, paragraph in enumerate(text.split("\n\n")):
        out += [()] if index else []
        rows = textwrap.wrap(
            " ".join(paragraph.split()),
            width,
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        out += [line(row) for row in rows]
    return out
