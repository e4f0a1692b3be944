"""EC346: the YAML file with which the engine is started."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import (
    Evidence,
    Finding,
    Item,
    Need,
    NotApplicable,
    NotChecked,
    Rule,
    Severity,
    Today,
)


def check(ctx: Context) -> Iterator[Item]:
    """The engine must be able to read it, and to make options of its keys."""
    file = ctx.settings_file
    assert ctx.engine is not None
    if file is None:
        yield NotApplicable()
        return
    if file.unread:
        yield NotChecked(
            f"config: {file.unread}, so that none of its settings was looked at",
            incomplete=True,
            path=file.path,
            help="name a copy that is here, relative to this file",
        )
    for one in file.refusals:
        key = "" if one.line is None else "config"
        yield Finding(
            one.message,
            path=file.path,
            why="SGLang puts these settings in front of its command line, and stops at what it cannot read",
            help=one.help,
            evidence=(
                *((Evidence(file.name, key, "read here", "", one.line, one.column),) if key else ()),
                Evidence(f"sglang {ctx.engine.facts_of}", "--config", file.source),
            ),
        )


RULE = Rule(
    id="EC346",
    slug="settings-file",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
    needs=(Need.ENGINE,),
)
