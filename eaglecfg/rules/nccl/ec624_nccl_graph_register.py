"""Registration of graph buffers turned back on."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings
from eaglecfg.rules.remedies import without_variable

NAME = "NCCL_GRAPH_REGISTER"


def check(ctx: Context) -> Iterator[Item]:
    """Where the engine turns registration off because of hangs, a value of the user's should agree."""
    view = settings(ctx)
    if view is None or NAME not in view or view.launch is None:
        yield NotApplicable()
        return
    own = view.engine_value(NAME)
    if not own.by_engine or view.number(NAME) in (0, None):
        return
    assert ctx.engine is not None
    yield view.finding(
        NAME,
        f"{view.spelled(NAME)} wins over sglang {ctx.engine.version}, which sets {own.text} for good reason",
        why=own.why or "decode graphs have hung with registered buffers",
        help="leave it out",
        evidence=(Evidence(f"sglang {ctx.engine.facts_of}", own.source, f"{NAME} = {own.text} unless set"),),
        fix=without_variable(view, NAME),
    )


RULE = Rule(
    id="EC624",
    slug="nccl-graph-register",
    severity=Severity.WARNING,
    today=Today.NOTHING,
    check=check,
    needs=(Need.ENGINE,),
    research=("nccl/G001",),
)
