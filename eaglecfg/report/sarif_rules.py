"""What SARIF says about the rules that a report mentions: their documentation, as long as hosts take it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eaglecfg.report.catalogue import family_of
from eaglecfg.rules.examples import read_docs
from eaglecfg.rules.model import Rule, Severity

LEVELS: Mapping[Severity, str] = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "note",
}
_CODE_HOST_SEVERITY = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "recommendation"}

RULES_FOLDER = ""
"""Address of docs/rules where it is published; code hosts link each rule's section there."""

LONGEST = 1_024
"""Characters of a description that GitHub takes."""


def descriptors(rules: Sequence[Rule]) -> list[dict[str, Any]]:
    """One reportingDescriptor a rule, in the given order."""
    return [_descriptor(rule) for rule in rules]


def _descriptor(rule: Rule) -> dict[str, Any]:
    docs = read_docs(rule)
    how = f"{docs.fix}\n\nOffline: eaglecfg explain {rule.id}"
    markdown = (
        f"{docs.what}\n\n**Why.** {docs.why}\n\n**Fix.** {docs.fix}\n\nOffline: `eaglecfg explain {rule.id}`"
    )
    section = f"{family_of(rule)}.md#{rule.id.lower()}-{rule.slug}"
    address = {"helpUri": f"{RULES_FOLDER}/{section}"} if RULES_FOLDER else {}
    return {
        "id": rule.id,
        "name": "".join(part.capitalize() for part in rule.slug.split("-")),
        "shortDescription": {"text": _cut(docs.summary)},
        "fullDescription": {"text": _cut(docs.what)},
        "help": {"text": how, "markdown": markdown},
        **address,
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        "properties": {
            "tags": ["eaglecfg", family_of(rule)],
            "problem.severity": _CODE_HOST_SEVERITY[rule.severity],
            "engineToday": rule.today.value,
        },
    }


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
