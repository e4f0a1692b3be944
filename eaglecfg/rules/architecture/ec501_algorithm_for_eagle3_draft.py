"""An EAGLE-3 draft runs only under the algorithm EAGLE3."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.architecture.algorithms import known_algorithms
from eaglecfg.rules.architecture.drafts import algorithm, mark_lines, marks
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Finding, Fix, Item, Need, Rule, Severity, Today

SINGLE_STATE = ("EAGLE", "NEXTN")
"""Algorithms that hand the draft one final state of the target instead of the captured ones."""

OWN_DRAFTS = ("STANDALONE", "DFLASH", "DSPARK", "UNO", "FROZEN_KV_MTP")
"""Algorithms that take drafts of another kind, which do not read states as EAGLE-3 drafts do."""

WITHOUT_DRAFT = ("NGRAM",)
"""Algorithms that draft from the text so far, and load no draft."""


def check(context: Context) -> Iterator[Item]:
    """The algorithm must be the one that the draft was trained for."""
    chosen, draft = algorithm(context), context.draft
    assert context.engine is not None
    assert draft is not None
    assert draft.config is not None
    if chosen is None or chosen.upper() not in (*SINGLE_STATE, *OWN_DRAFTS, *WITHOUT_DRAFT):
        return
    name = draft.config.architecture
    known, _ = known_algorithms(context.engine)
    if chosen.upper() not in known:
        return
    if name not in context.engine.drafts and not marks(draft):
        return
    path = context.where("speculative", "algorithm")
    severity, today, why = _consequence(context, chosen)
    yield Finding(
        f"the draft is an EAGLE-3 draft ({name}), which needs algorithm EAGLE3, but the algorithm is "
        f"{chosen}",
        path=path,
        severity=severity,
        today=today,
        why=why,
        help="set speculative.algorithm to EAGLE3",
        evidence=(config_line(draft.config, "architectures", "EAGLE-3 draft class"), *mark_lines(draft)),
        values={"algorithm": chosen, "draft_architecture": name},
        fix=Fix("set the algorithm to EAGLE3", path, "EAGLE3"),
    )


def _consequence(context: Context, chosen: str) -> tuple[Severity, Today, str]:
    if chosen.upper() in WITHOUT_DRAFT:
        why = f"{chosen} drafts from the text so far: the draft named here is not loaded, and nothing says so"
        return Severity.WARNING, Today.IGNORED, why
    if chosen.upper() in SINGLE_STATE:
        why = (
            f"{engine_label(context)} then hands the draft one final state of its own width, skips fc and "
            "says nothing: the accept length is 1.00"
        )
        return Severity.ERROR, Today.SILENT, why
    why = f"{chosen} takes drafts of another kind, and does not hand this one the captured states"
    return Severity.ERROR, Today.SILENT, why


RULE = Rule(
    id="EC501",
    slug="algorithm-for-eagle3-draft",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    research=("ALG-01",),
)
