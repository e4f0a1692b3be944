"""How sure the facts are for the engine version that runs."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.table import facts_of, known_versions
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, NotApplicable, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """Facts were read from released versions; for any other they are borrowed from the nearest older one."""
    engine = context.config.engine
    facts = facts_of(engine)
    if engine is None or not known_versions(engine.name):
        yield NotApplicable()
        return
    if facts is None:
        yield _no_number(engine.name, engine.version)
        return
    if facts.standing == "known":
        return
    known = facts.known_versions
    label, span = f"{engine.name} {engine.version}", f"{known[0]} to {known[-1]}"
    says = {
        "between": f"the facts for {label} are those of {facts.facts_of}, the nearest version read before it",
        "newer": f"{label} is newer than every version whose facts are known ({span}); those of "
        f"{facts.facts_of} are used",
        "older": f"{label} is older than every version whose facts are known ({span}); those of "
        f"{facts.facts_of} are used",
        "development": f"{label} is a development version; the facts of {facts.facts_of} are used",
    }
    sure = facts.standing == "between"
    yield Finding(
        says[facts.standing],
        path=("engine", "version"),
        severity=Severity.INFO if sure else Severity.WARNING,
        today=Today.NOTHING,
        why="captured layers, defaults and flags change between versions",
        help="read the findings as those of that version"
        if sure
        else f"run one of {span}, or look for an update",
        values={"version": engine.version, "facts_of": facts.facts_of, "standing": facts.standing},
    )


def _no_number(name: str, version: str) -> Finding:
    known, given = known_versions(name), version.strip() or "empty"
    return Finding(
        f"engine.version must be a release of {name}, such as {known[-1]}, but is {given}",
        path=("engine", "version"),
        severity=Severity.ERROR,
        today=Today.NOTHING,
        why="captured layers, defaults and flags change between versions: without knowing which one runs, "
        "nothing about the engine was checked",
        help=f"write the release that runs, {known[0]} to {known[-1]} (`pip show {name}` in its environment "
        "or image prints it); the tag of an image that begins with it will do, as in "
        f"{known[-1]}-cu130",
        values={"version": version},
        incomplete=True,
        lack="the engine version is not known",
    )


RULE = Rule(
    id="EC509",
    slug="engine-version-standing",
    severity=Severity.WARNING,
    today=Today.NOTHING,
    check=check,
    scope="file",
    research=("VER-01",),
)
