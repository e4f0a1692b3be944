"""A draft that is quantised in another way than the quantization flag says."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.remedies import give

FLAG, OWN = "quantization", "speculative_draft_model_quantization"
ALIKE = frozenset(
    {
        ("modelopt_fp4", "modelopt"),
        ("modelopt_fp8", "modelopt"),
        ("petit_nvfp4", "modelopt"),
        ("w8a8_int8", "compressed-tensors"),
        ("w8a8_fp8", "compressed-tensors"),
    }
)
"""Flag and method that are taken for the same (sglang 0.5.4.post1 srt/configs/model_config.py:636)."""


def check(ctx: Context) -> Iterator[Item]:
    """The draft's own method against the flag that is meant for the target."""
    assert ctx.engine is not None
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    flag, found = ctx.argument(FLAG), ctx.draft.config.find("quantization")
    method = found.value.get("quant_method") if found is not None and isinstance(found.value, dict) else None
    if not isinstance(flag, str) or not isinstance(method, str) or ctx.argument(OWN) is not None:
        yield NotApplicable()
        return
    if flag.lower() == method.lower() or (flag.lower(), method.lower().replace("_", "-")) in ALIKE:
        return
    keeps = ctx.engine.values.get("draft_keeps_quantization", True)
    yield Finding(
        f"quantization {flag} does not reach the draft, which is {method}"
        if keeps
        else f"quantization {flag} is held against the draft too, which is {method}",
        path=ctx.argument_path(FLAG),
        severity=Severity.INFO if keeps else Severity.ERROR,
        today=Today.IGNORED if keeps else Today.CRASH_AT_START,
        why="the engine goes by the draft's own config.json and says so in the log"
        if keeps
        else f"sglang {ctx.engine.version} stops while it loads the draft, after the target",
        help=f"write {OWN}: {method}, so that the file says what runs"
        if OWN in ctx.engine.flags
        else "leave out quantization; a quantised checkpoint says so in its config.json",
        evidence=(config_line(ctx.draft.config, "quantization", "the draft's own"),),
        fix=give(ctx, ("server", OWN), method) if OWN in ctx.engine.flags else None,
        values={FLAG: flag, "draft_quantization": method},
    )


RULE = Rule(
    id="EC266",
    slug="draft-quantization-differs",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    follows=("EC304", *UNLOADABLE),
    research=("QNT-02",),
)
