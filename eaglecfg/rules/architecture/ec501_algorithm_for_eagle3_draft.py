"""An EAGLE-3 draft runs only under the algorithm EAGLE3."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.architecture.drafts import algorithm, engine_label, mark_lines, marks
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Finding, Fix, Item, Need, Rule, Severity, Today

SINGLE_STATE = ("EAGLE", "NEXTN")
"""Algorithms that hand the draft one final state of the target instead of the captured ones."""

NO_STATE = ("STANDALONE",)
"""Algorithms that run the draft as a language model of its own."""


def check(context: Context) -> Iterator[Item]:
    """The algorithm must be the one that the draft was trained for."""
    chosen, draft = algorithm(context), context.draft
    assert context.engine is not None
    assert draft is not None
    assert draft.config is not None
    if chosen is None or chosen.upper() not in (*SINGLE_STATE, *NO_STATE):
        return
    name = draft.config.architecture
    if name not in context.engine.drafts and not marks(draft):
        return
    silent = chosen.upper() in SINGLE_STATE
    path = context.where("speculative", "algorithm")
    yield Finding(
        f"the draft is an EAGLE-3 draft ({name}), which needs algorithm EAGLE3, but the algorithm is "
        f"{chosen}",
        path=path,
        today=Today.SILENT if silent else Today.CRASH_AT_FIRST_REQUEST,
        why=f"{engine_label(context)} then hands the draft one final state of its own width, skips fc and "
        "says nothing: the accept length is 1.00"
        if silent
        else "the draft is run as a language model of its own and never gets the captured states that it "
        "reads",
        help="set speculative.algorithm to EAGLE3",
        evidence=(config_line(draft.config, "architectures", "EAGLE-3 draft class"), *mark_lines(draft)),
        values={"algorithm": chosen, "draft_architecture": name},
        fix=Fix("set the algorithm to EAGLE3", path, "EAGLE3", safe=True),
    )


RULE = Rule(
    id="EC501",
    slug="algorithm-for-eagle3-draft",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    research=("ALG-01",),
)
