"""The algorithm EAGLE3 needs an EAGLE-3 draft, not one of EAGLE-1 or an MTP head."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eaglecfg.checkpoint.facts import CheckpointFacts
from eaglecfg.rules.architecture.drafts import mark_lines, marks, runs_eagle3, tensor
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.evidence import config_line, either, tensor_line
from eaglecfg.rules.model import Evidence, Finding, Item, Need, Rule, Severity, Today

OTHER_KINDS = re.compile(r"(Eagle|MTP|NextN|Assistant\w*)$")
"""Endings of the names of draft classes that read one final state (EAGLE-1, MTP and assistant heads)."""


def check(context: Context) -> Iterator[Item]:
    """The draft's class must not be one for another algorithm."""
    draft = context.draft
    assert context.engine is not None
    assert draft is not None
    assert draft.config is not None
    name = draft.config.architecture
    if not runs_eagle3(context) or name is None or name in context.engine.drafts:
        return
    if OTHER_KINDS.search(name) is None:
        return
    known = either(sorted(context.engine.drafts))
    eagle3 = bool(marks(draft))
    yield Finding(
        f"the draft's config.json names the class {name}, made for another algorithm, but its tensors are "
        f"those of an EAGLE-3 draft, which {engine_label(context)} builds as {known}"
        if eagle3
        else f"algorithm EAGLE3 needs a draft of class {known}, but the draft is a {name}, made for another "
        "algorithm",
        path=context.where("draft", "checkpoint"),
        why=f"such a draft reads one final state of the target; {engine_label(context)} hands it captured "
        "ones",
        help=f"write {known} as architectures[0] in the draft's config.json"
        if eagle3
        else "use an EAGLE-3 draft, or set speculative.algorithm to EAGLE",
        evidence=(
            config_line(draft.config, "architectures", "not an EAGLE-3 class"),
            *(mark_lines(draft) or _fusion(draft)),
        ),
        values={"algorithm": "EAGLE3", "draft_architecture": name},
    )


def _fusion(draft: CheckpointFacts) -> tuple[Evidence, ...]:
    fc = tensor(draft, "fc.weight")
    if fc is None or len(fc.shape) != 2 or fc.shape[1] != 2 * fc.shape[0]:
        return ()
    return (tensor_line(fc, f"{fc.shape[1]} = 2 × {fc.shape[0]}: embedding and one state"),)


RULE = Rule(
    id="EC502",
    slug="draft-of-another-kind",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    research=("ALG-02", "ALG-13"),
)
