"""EC315: rejection sampling between two different vocabularies."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import leave_out
from eaglecfg.rules.vocabulary.facts import draft_vocabulary

FLAGS = ("speculative_use_rejection_sampling", "speculative_use_block_verification")


def check(ctx: Context) -> Iterator[Item]:
    flag = next((name for name in FLAGS if ctx.argument(name) is True), None)
    vocabulary = draft_vocabulary(ctx)
    if flag is None or vocabulary is None or not ctx.speculates:
        yield NotApplicable()
        return
    if not vocabulary.reduced:
        return
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    assert ctx.target is not None
    assert ctx.target.config is not None
    yield Finding(
        f"{flag} needs one vocabulary for target and draft, but the draft has {vocabulary.rows} of "
        f"{vocabulary.target} tokens",
        path=ctx.argument_path(flag),
        why="target and draft probabilities are compared token by token; SGLang refuses only after both "
        "models are loaded",
        help=f"leave out {flag}, or use a draft with the whole vocabulary",
        evidence=(
            config_line(ctx.draft.config, "draft_vocab_size"),
            config_line(ctx.target.config, "vocab_size"),
        ),
        fix=leave_out(ctx, flag),
        values={"draft_vocab_size": vocabulary.rows, "vocab_size": vocabulary.target},
    )


RULE = Rule(
    id="EC315",
    slug="rejection-vocabulary",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.TARGET_CONFIG),
    follows=("EC301", "EC316"),
    research=("ARG-15",),
)
