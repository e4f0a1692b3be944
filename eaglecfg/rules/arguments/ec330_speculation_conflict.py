"""Settings that the engine refuses together with an EAGLE-3 draft."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.arguments.shape import EAGLE_FAMILY, algorithm, asked
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import leave_out


def check(ctx: Context) -> Iterator[Item]:
    """No flag may be on that this version refuses under speculation, or under trees."""
    assert ctx.engine is not None
    name, shape = algorithm(ctx), asked(ctx)
    if name not in EAGLE_FAMILY:
        yield NotApplicable()
        return
    chain = shape is None or shape.topk in (None, 1)
    rows = (
        row
        for key in ("speculation_conflicts", "speculation_conflicts_by_mode")
        for row in ctx.engine.values.get(key, ())
    )
    for row in rows:
        value = ctx.argument(row["flag"])
        if any(ctx.argument(flag) != wanted for flag, wanted in row.get("when", {}).items()):
            continue
        on = value is True or (isinstance(value, int) and value > row.get("above", value))
        if not on or (row.get("unless") == "chain" and chain):
            continue
        what = name if "unless" not in row else "a tree (eagle_topk above 1)"
        yield Finding(
            f"{row['flag']} does not go with {what}",
            path=ctx.argument_path(row["flag"]),
            why=f"{row['why']}; SGLang stops while it reads its arguments",
            help=f"leave out {row['flag']}" + (", or write eagle_topk: 1" if "unless" in row else ""),
            evidence=(Evidence(f"sglang {ctx.engine.facts_of}", row["flag"], row["source"]),),
            related=((ctx.argument_path("speculative_algorithm"), "speculation is on"),),
            fix=leave_out(ctx, row["flag"]),
            values={row["flag"]: value},
        )


RULE = Rule(
    id="EC330",
    slug="speculation-conflict",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
    needs=(Need.ENGINE,),
    follows=("EC301",),
    research=("PAR-04", "PAR-05", "ARG-29"),
)
