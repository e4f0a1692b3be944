"""A head borrowed from the target under data-parallel attention."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.parallel.ranks import ranks
from eaglecfg.rules.remedies import give
from eaglecfg.rules.vocabulary.facts import draft_vocabulary


def check(ctx: Context) -> Iterator[Item]:
    """A borrowed head should be cut as the draft cuts it, which ``enable_dp_lm_head`` sees to."""
    shared, vocabulary = ranks(ctx), draft_vocabulary(ctx)
    if vocabulary is None or not vocabulary.borrowed or vocabulary.tied or shared.groups < 2:
        yield NotApplicable()
        return
    if ctx.argument("enable_dp_lm_head") is True:
        return
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    yield Finding(
        f"the draft borrows the target's head (draft_vocab_size null) under {shared.key} {shared.groups}, "
        "but enable_dp_lm_head is not set",
        path=shared.path,
        why="the target's head is cut over all ranks and the draft's over one attention group: rows may not "
        "match; this follows from the code and was not seen in a run",
        help="add enable_dp_lm_head: true to the server block and compare accept lengths",
        evidence=(config_line(ctx.draft.config, "draft_vocab_size", "borrow the target's head"),),
        related=((ctx.where("parallel", "tp_size"), f"{shared.tensor} ranks"),),
        arithmetic=(f"head: {shared.tensor} shards; draft: {shared.attention}",),
        fix=give(ctx, ("server", "enable_dp_lm_head"), True),
        values={shared.key: shared.groups, "enable_dp_lm_head": False},
    )


RULE = Rule(
    id="EC414",
    slug="borrowed-head",
    severity=Severity.WARNING,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    follows=("EC408", *UNLOADABLE),
    research=("VOC-17",),
)
