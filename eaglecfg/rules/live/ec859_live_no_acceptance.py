"""The running server accepts next to no draft: the sign of wrong wiring."""

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
    """Whether the accept length is as good as 1, whatever is expected."""
    from eaglecfg.rules.live.judge import NEAR_ONE, requests

    running = ctx.running
    assert running is not None
    measured = running.generations
    if measured is None or not ctx.speculates:
        yield NotApplicable()
        return
    length = measured.accept_length
    if length is None:
        yield NotChecked("no accept length was measured")
        return
    if (measured.high if measured.high is not None else length) >= NEAR_ONE:
        return
    expected = ctx.model.expected_accept_length
    before = "" if expected is None else f", where {expected:g} was measured before"
    yield Finding(
        f"the server at {running.url} accepts next to no draft: {length:.2f} tokens per verify step over "
        f"{requests(measured.counted)}{before}; 1 is what it would yield without a draft",
        path=ctx.where("draft"),
        why="drafting costs time and brings nothing: a map from draft ids to target ids that is missing or "
        "shuffled, fc skipped, or another draft's weights look like this",
        help="eaglecfg validate checks d2t, fc and the wiring of the files; until it is found, turn "
        "speculation off",
        evidence=(Evidence(f"{running.url}/generate", measured.counters, f"{length:.3f}"),),
        values={"accept_length": length, "requests": measured.counted, "verify_steps": measured.verify_steps},
    )


RULE = Rule(
    id="EC859",
    slug="live-no-acceptance",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.RUNNING,),
    follows=("EC857",),
)
