"""EC321: SGLANG_ENABLE_SPEC_V2 on a version where it is refused or does nothing."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.arguments.shape import EAGLE_FAMILY, algorithm, asked
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import without

NAME = "SGLANG_ENABLE_SPEC_V2"
ON = frozenset({"1", "true", "yes", "y"})


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
    if fact == "chains_only" and tree and value.lower() in ON:
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


RULE = Rule(
    id="EC321",
    slug="spec-v2-variable",
    severity=Severity.WARNING,
    today=Today.IGNORED,
    check=check,
    needs=(Need.ENGINE,),
    research=("ARG-23",),
)
