"""A variable of the engine's about collectives that this version does not read."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.nccl.version import at_least, before
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings
from eaglecfg.rules.remedies import without_variable


def check(ctx: Context) -> Iterator[Item]:
    """Each of them must exist in the version that runs."""
    view = settings(ctx)
    if view is None or view.launch is None:
        yield NotApplicable()
        return
    for name, fact in view.own().items():
        if name not in view:
            continue
        early = before(view.launch.version, fact["since"])
        if not early and ("until" not in fact or at_least(fact["until"], view.launch.version)):
            continue
        history = (
            f"it came with {fact['since']}" if early else f"{fact.get('until')} was the last version with it"
        )
        assert ctx.engine is not None
        yield view.finding(
            name,
            f"sglang {ctx.engine.version} does not read {name}; {history}",
            at_key=True,
            why="a name that the engine does not read changes nothing, and nothing reports it",
            help="leave it out" if not early else f"run sglang {fact['since']} or later, or leave it out",
            fix=without_variable(view, name, safe=True),
            evidence=(Evidence(f"sglang {fact['read_in']}", fact["source"], name),),
        )


RULE = Rule(
    id="EC636",
    slug="engine-variable-other-version",
    severity=Severity.WARNING,
    today=Today.IGNORED,
    check=check,
    needs=(Need.ENGINE,),
    research=("nccl/S007",),
)
