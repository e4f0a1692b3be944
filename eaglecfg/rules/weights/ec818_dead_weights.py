"""Weights that were never trained, or lost: NaN, infinite, zero or one value throughout."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eaglecfg.checkpoint.values import TensorValues
from eaglecfg.record import replace
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import listed, tensor_line
from eaglecfg.rules.model import Finding, Item, Need, Rule, Severity, Today
from eaglecfg.rules.weights.reading import must_differ, undecided

SHOWN = 6
"""Tensors that one finding shows; the others are counted."""

UNSEEN = "each token is verified, so the server stays healthy and its answers right"
DOES = {
    "fc": "fc makes nothing of the captured states, and the draft sees nothing of what the target computed",
    "head": "every draft token gets the same score, so the draft proposes the same one each time",
    "norm": "what passes such a norm becomes zero",
    "embedding": "the draft cannot tell one token from another",
    "attention": "the draft's attention cannot tell one token from another",
    "scale": "what is multiplied by such a scale is zero, and what is divided by it infinite",
    "mlp": "the draft's MLP adds nothing of use",
}
"""Part -> what comes of it, the gravest first."""


def check(ctx: Context) -> Iterator[Item]:
    """Every value must be finite, and no weight may be zero or one value throughout."""
    assert ctx.values is not None
    for each in undecided(ctx):
        # Where nothing else is wrong with the files, it stands among the findings: quiet reports have it too.
        yield replace(each, path=ctx.where("draft", "checkpoint")) if each.help else each
    every = ctx.values.tensors.values()
    odd = [each for each in every if each.nan or each.infinite]
    if odd:
        yield _not_finite(ctx, odd)
    role = must_differ(ctx)
    dead = [
        (role[each.tensor.name], each)
        for each in every
        if each.constant is not None
        and not (each.nan or each.infinite)
        and each.tensor.name in role
        and (each.zero or (each.count > 1 and role[each.tensor.name] not in ("norm", "scale")))
    ]
    if dead:
        yield _dead(ctx, dead)


def _not_finite(ctx: Context, odd: Sequence[TensorValues]) -> Finding:
    first, notes = odd[0], [_counted(each) for each in odd]
    if len(odd) == 1:
        message = f"the draft's {first.tensor.name} is not finite: {notes[0]}"
    else:
        names = listed([each.tensor.name for each in odd])
        message = f"{len(odd):,} tensors of the draft hold values that are not finite: {names}"
    return Finding(
        message,
        ctx.where("draft", "checkpoint"),
        why="one such value makes whatever is computed with it NaN as well, and the draft proposes noise; "
        f"{UNSEEN}, and the accept length is 1",
        help="the training run diverged, or the file was damaged: take an earlier checkpoint of the "
        "training, or export or download the draft again",
        evidence=tuple(
            tensor_line(each.tensor, note) for each, note in zip(odd[:SHOWN], notes, strict=False)
        ),
        values={
            "tensors": [each.tensor.name for each in odd],
            "nan": sum(each.nan for each in odd),
            "infinite": sum(each.infinite for each in odd),
        },
    )


def _counted(values: TensorValues) -> str:
    """``12 NaN and 3 infinite values of 65,536``."""
    kinds = ((values.nan, "NaN"), (values.infinite, "infinite"))
    for count, word in kinds:
        if count == values.count:
            return f"all its {count:,} values are {word}" if count > 1 else f"its one value is {word}"
    found = " and ".join(f"{count:,} {word}" for count, word in kinds if count)
    many = "value" if values.nan + values.infinite == 1 else "values"
    return f"{found} {many} of {values.count:,}"


def _dead(ctx: Context, dead: Sequence[tuple[str, TensorValues]]) -> Finding:
    ranks = list(DOES)
    part = min((part for part, _ in dead), key=ranks.index)
    tensors = [each for _, each in dead]
    zero = all(each.zero for each in tensors)
    what = "zero" if zero else "one value" if not any(each.zero for each in tensors) else "zero or one value"
    if len(dead) == 1:
        first = tensors[0]
        value = "zero" if first.zero else first.constant
        where = f"throughout, in all its {first.count:,} values" if first.count > 1 else "in its one value"
        message = f"the draft's {first.tensor.name} is {value} {where}"
    else:
        names = listed([each.tensor.name for each in tensors])
        message = f"{len(dead):,} tensors of the draft are {what} throughout: {names}"
    return Finding(
        message,
        ctx.where("draft", "checkpoint"),
        why=f"{DOES[part]}; {UNSEEN}, and the accept length falls{'' if part == 'mlp' else ' towards 1'}",
        help="no training leaves a weight so: it was never written (an export of uninitialised or meta "
        "tensors, a copy that was interrupted), so export or download the draft again",
        evidence=tuple(tensor_line(each.tensor, _all(each)) for each in tensors[:SHOWN]),
        values={
            "tensors": [each.tensor.name for each in tensors],
            "constants": [each.constant for each in tensors],
        },
    )


def _all(values: TensorValues) -> str:
    if values.count == 1:
        return f"its one value is {values.constant}"
    return f"all its {values.count:,} values are {values.constant}"


RULE = Rule(
    id="EC818",
    slug="dead-weights",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.WEIGHTS,),
)
