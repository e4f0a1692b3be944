"""EC321: SGLANG_ENABLE_SPEC_V2 on a version where it is refused or does nothing."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.numerals import engine_switch
from eaglecfg.rules.arguments.shape import EAGLE_FAMILY, algorithm, asked
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import without

NAME = "SGLANG_ENABLE_SPEC_V2"


def check(ctx: Context) -> Iterator[Item]:
    assert ctx.engine is not None
    value = ctx.variable(NAME)
    fact = ctx.engine.values.get("spec_v2")
    if value is None or fact is None or algorithm(ctx) not in EAGLE_FAMILY:
        yield NotApplicable()
        return
    path = ctx.where("env", NAME)
    if fact in ("removed", "gone"):
        says = "logs a notice" if fact == "removed" else "does not look at it"
        yield Finding(
            f"{NAME} was removed from SGLang and does nothing in {ctx.engine.version}",
            path=path,
            why=f"the v2 worker always runs; this version {says}",
            help=f"remove {NAME}; disable_overlap_schedule: true chooses the synchronous path",
            fix=without(ctx, "env", NAME, safe=True),
            values={NAME: value},
        )
        return
    shape = asked(ctx)
    tree = shape is not None and shape.topk is not None and shape.topk > 1
    if fact == "opt_in" and tree and engine_switch(value) and _overlaps(ctx):
        assert shape is not None
        yield Finding(
            f"eagle_topk must be 1 with {NAME}={value} in sglang {ctx.engine.version}, but is {shape.topk}",
            path=path,
            severity=Severity.ERROR,
            today=Today.SILENT,
            why="the v2 worker of this version takes the first tokens of a tree for its accepted path, and "
            "leaves the cache of that path where it is: answers go wrong, and nothing says so",
            help=f"remove {NAME}, or write eagle_topk: 1",
            evidence=(
                Evidence(
                    f"sglang {ctx.engine.facts_of}",
                    "move_accepted_tokens_to_target_kvcache is called by nobody",
                    "srt/speculative/eagle_worker_v2.py:660 (sglang 0.5.4.post1)",
                ),
            ),
            related=((ctx.argument_path("speculative_eagle_topk"), f"{shape.topk} branches"),),
            fix=without(ctx, "env", NAME),
            values={NAME: value, "eagle_topk": shape.topk},
        )
    if fact == "chains_only" and tree and engine_switch(value):
        assert shape is not None
        yield Finding(
            f"eagle_topk must be 1 with {NAME}={value} in sglang {ctx.engine.version}, but is {shape.topk}",
            path=path,
            severity=Severity.ERROR,
            today=Today.REFUSED,
            why="the v2 worker of this version takes chains only; SGLang stops while it reads its arguments",
            help=f"remove {NAME}, or write eagle_topk: 1",
            related=((ctx.argument_path("speculative_eagle_topk"), f"{shape.topk} branches"),),
            fix=without(ctx, "env", NAME),
            values={NAME: value, "eagle_topk": shape.topk},
        )


def _overlaps(ctx: Context) -> bool:
    """Whether the opt-in runs the v2 worker: EAGLE always, EAGLE3 unless overlapping is switched off."""
    name = algorithm(ctx)
    if name == "STANDALONE":
        return False  # has a worker of its own
    return name != "EAGLE3" or ctx.argument("disable_overlap_schedule") is not True


RULE = Rule(
    id="EC321",
    slug="spec-v2-variable",
    severity=Severity.WARNING,
    today=Today.IGNORED,
    check=check,
    needs=(Need.ENGINE,),
    research=("ARG-23",),
)
