"""An engine that eaglecfg has no facts for."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.table import known_versions
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, NotApplicable, Rule, Severity, Today

ENGINES = ("sglang",)


def check(context: Context) -> Iterator[Item]:
    """Without facts no rule that needs the engine can decide, so that nothing is proven."""
    engine = context.config.engine
    if engine is None:
        yield NotApplicable()
        return
    if known_versions(engine.name):
        return
    yield Finding(
        f"eaglecfg has facts about {', '.join(ENGINES)}, but the engine is {engine.name}",
        path=("engine", "name"),
        why="without facts about the engine nothing can be proven about what it captures",
        help=f"write {ENGINES[0]} if that is what runs",
        values={"name": engine.name},
        incomplete=True,
        lack="the engine is not known",
    )


RULE = Rule(
    id="EC511",
    slug="engine-unknown",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=check,
    scope="file",
    research=("VER-01",),
)
