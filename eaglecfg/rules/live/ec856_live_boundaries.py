"""A server that reports its wiring feeds the draft other layers than it was trained on."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotApplicable, Rule, Severity, Today


def check(ctx: Context) -> Iterator[Item]:
    """Compare the boundaries that the server reports with the trained ones, else with the expected ones.

    SGLang reports none; the reference decoder does.
    """
    running = ctx.running
    assert running is not None
    wiring = running.info.get("reference")
    found = wiring.get("boundaries") if isinstance(wiring, dict) else None
    if not isinstance(found, list) or not ctx.speculates:
        yield NotApplicable()
        return
    wanted, what = ctx.trained, "the draft was trained on"
    if wanted is None and ctx.boundaries is not None:
        wanted, what = ctx.boundaries.captured, "this config comes to"
    if wanted is None or tuple(found) == tuple(wanted):
        return
    declared = ctx.model.capture.trained_boundaries is not None
    yield Finding(
        f"the server at {running.url} captures boundaries {found}, {what} {list(wanted)}",
        path=ctx.where(*(("capture", "trained_boundaries") if declared else ("draft", "checkpoint"))),
        why="the server stays healthy and its answers stay right; only the accept length falls",
        help="restart the server with the draft that this config names, without --boundaries",
        evidence=(Evidence(f"{running.url}/server_info", "reference.boundaries", str(found)),),
        values={"running": found, "expected": list(wanted)},
    )


RULE = Rule(
    id="EC856",
    slug="live-boundaries",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.RUNNING,),
)
