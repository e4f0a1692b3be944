"""EC239: a head borrowed from a target of another width."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.vocabulary.facts import draft_tensor, draft_vocabulary


def check(ctx: Context) -> Iterator[Item]:
    """The target's head and embedding, borrowed together, must be as wide as the draft."""
    vocabulary = draft_vocabulary(ctx)
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    draft = ctx.draft.config
    target = ctx.target.config if ctx.target is not None else None
    if vocabulary is None or not vocabulary.borrowed or vocabulary.tied:
        yield NotApplicable()
        return
    hidden, stated = draft.integer("hidden_size"), draft.integer("target_hidden_size")
    width = (target.integer("hidden_size") if target is not None else None) or stated
    if hidden is None or width is None:
        yield NotApplicable()
        return
    if width == hidden:
        return
    state = "is absent" if vocabulary.declared is None else "is null"
    head = draft_tensor(ctx, "lm_head.weight")
    known = target is not None and target.integer("hidden_size") is not None
    yield Finding(
        f"draft_vocab_size {state}, which borrows the target's head and embedding, but they are {width} wide "
        f"and the draft is {hidden} wide",
        path=ctx.where("draft", "checkpoint"),
        why="a draft that borrows the head is given both tables whatever its width, in place of its own; "
        "SGLang stops at the first norm over the embedding, while it records the draft's graphs or at the "
        "first request",
        help=f'write "draft_vocab_size": {head.shape[0]} into {draft.file}, so that the head in the draft\'s '
        "files runs"
        if head is not None and head.shape[1:] == (hidden,)
        else f"ship a head of {hidden} columns with the draft and write its rows as draft_vocab_size into "
        f"{draft.file}; a draft of another width cannot borrow",
        evidence=(
            config_line(draft, "draft_vocab_size", "borrow the target's head"),
            config_line(draft, "hidden_size", "width of the draft"),
            config_line(target, "hidden_size", "width of the target's tables")
            if known and target is not None
            else config_line(draft, "target_hidden_size", "width of the target's tables"),
        ),
        values={"draft_vocab_size": None, "hidden_size": hidden, "target_hidden_size": width},
    )


RULE = Rule(
    id="EC239",
    slug="borrowed-width",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    follows=("EC222", "EC241", *UNLOADABLE),
)
