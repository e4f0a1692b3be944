"""An explicit quantization flag that reaches the draft too."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today

FLAG, OWN = "quantization", "speculative_draft_model_quantization"
PASSIVE = frozenset({"unquant", "modelopt", "petit_nvfp4"})
"""Values that do nothing to a checkpoint without quantised weights."""


def check(ctx: Context) -> Iterator[Item]:
    """A draft in plain weights under ``quantization`` needs an opt-out of its own."""
    assert ctx.engine is not None
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    config, method = ctx.draft.config, ctx.argument(FLAG)
    if not isinstance(method, str) or method in PASSIVE or not ctx.speculates:
        yield NotApplicable()
        return
    if ctx.argument(OWN) is not None or config.find("quantization") is not None:
        return
    known = OWN in ctx.engine.flags
    yield Finding(
        f"quantization {method} is meant for the target, but the draft, which states none, inherits it",
        path=ctx.argument_path(FLAG),
        why=f"the draft's plain weights are quantised to {method} while they load, and nothing says so"
        if known
        else f"this version has no flag to keep {method} from the draft",
        help=f"add {OWN}: unquant to the server block"
        if known
        else "leave out quantization (a quantised target says so in its config.json), or run a version "
        f"that has {OWN}",
        evidence=(
            config_line(config, "quantization", "the draft states none"),
            config_line(config, "dtype", "the draft's plain weights"),
        ),
        values={FLAG: method, OWN: None},
    )


RULE = Rule(
    id="EC259",
    slug="quantization-inherited",
    severity=Severity.WARNING,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    follows=UNLOADABLE,
    research=("QNT-01", "QNT-05"),
)
