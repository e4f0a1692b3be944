"""The algorithm must be one that this engine version knows."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.architecture.algorithms import any_case, first_version, known_algorithms, nearest
from eaglecfg.rules.architecture.drafts import algorithm
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.model import Evidence, Finding, Fix, Item, Need, NotChecked, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """Compare the name with those of the version, letter by letter where the version does."""
    chosen = algorithm(context)
    assert context.engine is not None
    if chosen is None:
        return
    known, source = known_algorithms(context.engine)
    if chosen in known or (any_case(context.engine) and chosen.upper() in known):
        return
    if context.engine.standing in ("newer", "development"):
        yield NotChecked(
            f"{engine_label(context)} is newer than the facts, and may know the algorithm {chosen}"
        )
        return
    label, since, near = engine_label(context), first_version(context, chosen), nearest(chosen, known)
    path = context.where("speculative", "algorithm")
    came = f"; {context.engine.name} {since} is the first version that does" if since else ""
    meant = f"; {near} is meant?" if near and not since else ""
    yield Finding(
        f"{label} does not know the algorithm {chosen}{came}{meant}",
        path=path,
        why="the engine refuses the name while it reads its arguments",
        help=f"run {context.engine.name} {since} or later, or choose one of {', '.join(known)}"
        if since
        else f"write {near}"
        if near
        else f"choose one of {', '.join(known)}",
        evidence=(Evidence(f"{context.engine.name} {context.engine.facts_of}", source, ", ".join(known)),),
        values={"algorithm": chosen, "known": list(known)},
        fix=Fix(f"set the algorithm to {near}", path, near, safe=False) if near and not since else None,
    )


RULE = Rule(
    id="EC510",
    slug="algorithm-unknown",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
    needs=(Need.ENGINE,),
    follows=("EC501",),
    research=("ALG-15",),
)
