"""EC320: a draft window or sink that is refused or does nothing."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import leave_out

WINDOW, SINK = "speculative_draft_window_size", "speculative_draft_sink_size"


def check(ctx: Context) -> Iterator[Item]:
    window, sink = ctx.argument(WINDOW), ctx.argument(SINK)
    if window is None and sink is None:
        yield NotApplicable()
        return
    if sink is not None and window is None:
        yield Finding(
            f"{SINK} needs {WINDOW}, which is not given",
            path=ctx.argument_path(SINK),
            why="a sink is what a window keeps from the start of the text; SGLang stops while it reads its "
            "arguments",
            help=f"add {WINDOW}, or leave out {SINK}",
            fix=leave_out(ctx, SINK),
            values={SINK: sink},
        )
        return
    for name, value, least in ((WINDOW, window, 1), (SINK, sink, 0)):
        if isinstance(value, int) and value < least:
            yield Finding(
                f"{name} must be at least {least}, but is {value}",
                path=ctx.argument_path(name),
                why="SGLang stops while it reads its arguments",
                help=f"leave out {name} to let the draft see the whole text",
                fix=leave_out(ctx, name),
                values={name: value},
            )
            return
    yield from _ignored(ctx)


def _ignored(ctx: Context) -> Iterator[Item]:
    """Settings that the draft class of this deployment does not look at."""
    config = ctx.draft.config if ctx.draft is not None else None
    assert ctx.engine is not None
    architecture = config.architecture if config is not None else None
    fact = ctx.engine.drafts.get(architecture or "")
    name = {"mla": WINDOW, "llama": SINK}.get(fact.family) if fact is not None else None
    if name is None or ctx.argument(name) in (None, 0):
        return
    yield Finding(
        f"{name} has no effect on a draft of class {architecture}",
        path=ctx.argument_path(name),
        severity=Severity.WARNING,
        today=Today.IGNORED,
        why="the draft class does not read it, and nothing says so",
        help=f"leave out {name}",
        fix=leave_out(ctx, name, safe=True),
        values={name: ctx.argument(name)},
    )


RULE = Rule(
    id="EC320",
    slug="draft-window",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
    needs=(Need.ENGINE,),
    follows=("EC301", "EC303"),
    research=("ARG-20", "ARG-21"),
)
