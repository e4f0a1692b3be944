"""EC324: random weights instead of the files."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, Need, Rule, Severity, Today
from eaglecfg.rules.remedies import leave_out


def check(ctx: Context) -> Iterator[Item]:
    draft_format = ctx.argument("speculative_draft_load_format")
    for name, what in (("load_format", "the target"), ("speculative_draft_load_format", "the draft")):
        if ctx.argument(name) != "dummy" or (name != "load_format" and not ctx.speculates):
            continue
        both = name == "load_format" and ctx.speculates and draft_format is None
        whose = "target and draft" if both else what
        yield Finding(
            f"{name} dummy fills {whose} with random weights",
            path=ctx.argument_path(name),
            why="every proposal is noise and the accept length is 1; nothing says so"
            if whose == "the draft"
            else "answers are noise; the format is for benchmarks of speed alone",
            help=f"leave out {name}",
            fix=leave_out(ctx, name),
            values={name: "dummy"},
        )


RULE = Rule(
    id="EC324",
    slug="dummy-weights",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE,),
    follows=("EC301",),
    research=("ARG-26",),
)
