"""Trained boundaries that no draft can have been trained on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eaglecfg.rules.capture.ids import counted, depth_line, layers, spelled, target_config
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.files.target_names import miscounted
from eaglecfg.rules.model import Finding, Item, NotApplicable, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """Boundaries lie in 0..n for a target of n layers, and no state is captured twice."""
    trained, n = context.trained, layers(context)
    if trained is None:
        yield NotApplicable()
        return
    # A target whose config counts too few of its layers is the cause, and a rule of its own.
    wrong = _wrong(trained, None if miscounted(context) else n)
    if not wrong:
        return
    declared = context.model.capture.trained_boundaries is not None
    known = n is not None and context.target is not None and context.target.config is not None
    top = n if n is not None else "the number of layers"
    name = "capture.trained_boundaries" if declared else "the training record"
    yield Finding(
        f"{name} is {spelled(trained)}, but {wrong}",
        path=context.where("capture", "trained_boundaries")
        if declared
        else context.where("draft", "checkpoint"),
        why=f"boundaries lie in 0..{top} and are distinct: 0 is the embedding, {top} the state after the "
        "last layer. Nothing can be compared with this list",
        help="write the boundaries of training; if the trainer counts layer outputs, as capture ids mostly "
        "do, add 1 to each",
        evidence=(depth_line(target_config(context), "depth of the target"),) if known else (),
        values={"trained_boundaries": list(trained), "layers": n},
    )


def _wrong(trained: Sequence[int], n: int | None) -> str:
    """What is wrong with the list, empty for nothing."""
    if not trained:
        return "at least one boundary is captured"
    negative = next((each for each in trained if each < 0), None)
    if negative is not None:
        return f"{negative} is below 0"
    beyond = next((each for each in trained if n is not None and each > n), None)
    if beyond is not None:
        return f"{beyond} lies behind the last of the target's {counted(n or 0, 'layer')}"
    twice = next((each for each in trained if trained.count(each) > 1), None)
    return f"{twice} stands there twice" if twice is not None else ""


RULE = Rule(
    id="EC220",
    slug="trained-boundaries-impossible",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=check,
    follows=("EC107", "EC262", *UNLOADABLE),
)
