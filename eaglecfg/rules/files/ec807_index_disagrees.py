"""The index and the weight files must tell the same story."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.files.problems import finding, findings, of_kinds, weighted
from eaglecfg.rules.model import Item, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """Broken index, file names that leave the folder, tensors that are not where the index puts them."""
    why = "SGLang loads what the files hold; a tensor that is in none of them stays as it was allocated"
    yield from findings(context, "index-names-absent", why=why, today=Today.SILENT)
    why = "SGLang looks only into the folder itself, so such a file is never loaded"
    yield from findings(context, "unsafe-path", why=why, today=Today.SILENT)
    yield from findings(context, "index-malformed", why="the engine stops when it reads the index")
    for side, facts in weighted(context):
        if problems := of_kinds(facts, "index-lacks"):
            why = "SGLang loads these tensors all the same; tools that go by the index miss them"
            yield finding(context, side, problems, why=why, severity=Severity.INFO, today=Today.NOTHING)


RULE = Rule(
    id="EC807",
    slug="index-disagrees",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
)
