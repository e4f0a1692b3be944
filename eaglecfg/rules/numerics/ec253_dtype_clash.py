"""Target and draft that resolve to different dtypes."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.files.config_values import fits_dtype
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.remedies import give, write


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
    if not fits_dtype(draft.value("dtype")) or not fits_dtype(target.value("dtype")):
        yield NotChecked("a config.json names no dtype that torch knows")
        return
    assert ctx.resolution is not None
    own, wanted = ctx.resolution.runs("draft.dtype"), ctx.resolution.runs("target.dtype")
    if own is None or wanted is None or own == wanted:
        return
    # Where only the draft says what it is, the target is the odd one.
    odd, sure = (draft, True) if target.value("dtype") is not None else (target, False)
    goal, has = (wanted, own) if sure else (own, wanted)
    spelled = odd.value("dtype")
    how = f"has no dtype, which resolves to {has}" if spelled is None else f"says {spelled}"
    if spelled not in (None, has):
        how += f", which resolves to {has}"
    yield Finding(
        f"target and draft must run in one dtype, {goal}, but {odd.file} {how}",
        path=ctx.where("draft" if sure else "target", "checkpoint"),
        # A target without the key may get its dtype from a class that is not known here.
        severity=None if sure else Severity.WARNING,
        why="captured states reach fc as they are: mat1 and mat2 differ in dtype at the first request",
        help=f'set server.dtype to {goal}, which casts both models, or write "dtype": "{goal}" into '
        f"{odd.file}",
        evidence=(
            config_line(draft, "dtype", f"runs in {own}"),
            config_line(target, "dtype", f"runs in {wanted}"),
        ),
        fix=write(ctx, "dtype", goal) or give(ctx, ("server", "dtype"), goal),
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
