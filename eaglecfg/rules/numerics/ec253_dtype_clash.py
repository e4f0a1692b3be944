"""Target and draft that resolve to different dtypes."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today


def check(ctx: Context) -> Iterator[Item]:
    """Nothing casts a captured state, so both models must run in one dtype."""
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    assert ctx.target is not None
    assert ctx.target.config is not None
    draft, target = ctx.draft.config, ctx.target.config
    if ctx.argument("dtype") not in (None, "auto") or _fixed(ctx, target):
        yield NotApplicable()
        return
    assert ctx.resolution is not None
    own, wanted = ctx.resolution.runs("draft.dtype"), ctx.resolution.runs("target.dtype")
    if own is None or wanted is None or own == wanted:
        return
    spelled = draft.value("dtype")
    how = (
        ""
        if spelled == own
        else f" ({draft.file} {'has no dtype' if spelled is None else f'says {spelled}'})"
    )
    yield Finding(
        f"the draft must run in {wanted} like the target, but resolves to {own}{how}",
        path=ctx.where("draft", "checkpoint"),
        # A target without the key may get its dtype from a class that is not known here.
        severity=None if target.value("dtype") is not None else Severity.WARNING,
        why="captured states reach fc as they are: mat1 and mat2 differ in dtype at the first request",
        help=f'set server.dtype to {wanted}, which casts both models, or write "dtype": "{wanted}" into '
        f"{draft.file}",
        evidence=(
            config_line(draft, "dtype", f"runs in {own}"),
            config_line(target, "dtype", f"runs in {wanted}"),
        ),
        values={"draft_dtype": own, "target_dtype": wanted},
    )


def _fixed(ctx: Context, target: ModelConfig) -> bool:
    """Whether the engine sets one dtype for both models because of the target's class."""
    assert ctx.engine is not None
    row = ctx.engine.values.get("dtype_fixed", {}).get(target.architecture)
    if row is None:
        return False
    method, wanted = target.value("quantization"), row.get("quant_method")
    return wanted is None or (isinstance(method, dict) and method.get("quant_method") == wanted)


RULE = Rule(
    id="EC253",
    slug="dtype-clash",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_FIRST_REQUEST,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.TARGET_CONFIG),
    follows=UNLOADABLE,
    research=("DTY-01", "DTY-02"),
)
