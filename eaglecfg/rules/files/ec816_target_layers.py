"""A target whose files hold other layers than its config counts."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.files.target_names import announced, layers, too_far, whole_target
from eaglecfg.rules.model import Evidence, Finding, Item, NotApplicable, NotChecked, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """Layers 0 to num_hidden_layers - 1 must have tensors, and none beyond them."""
    whole = whole_target(context)
    if whole is None:
        yield NotApplicable()
        return
    config, names = whole
    held, count = layers(names), config.integer("num_hidden_layers")
    if not held or count is None:
        yield NotApplicable()
        return
    if 2 * len(held) < count:
        # A sketch of a checkpoint, or an extract of one: no download ends up like this.
        yield NotChecked(
            f"{context.model.target.checkpoint} has tensors for {len(held)} of {count} layers, which is "
            "taken for an extract"
        )
        return
    absent = [index for index in range(min(count, max(held) + 2)) if index not in held]
    if absent:
        yield _finding(
            context,
            config,
            count,
            held,
            f"but its files have nothing for layer {absent[0]}"
            + (" and those after it" if absent[0] > max(held) else ""),
            "SGLang does not compare what it loaded with what it built: such a layer computes with whatever "
            "its memory held, and default boundaries are counted from the wrong number of layers",
            Severity.ERROR,
        )
    elif max(held) >= count and not announced(config):
        asked = too_far(context, count)
        if asked > max(held) + 1:
            yield NotApplicable()  # the draft is for a deeper model still, as the rules about its ids say
            return
        yield _finding(
            context,
            config,
            count,
            held,
            f"but its files hold layers up to {max(held)}"
            + (f", and the draft is for {asked} or more" if asked else ""),
            "SGLang passes over what it did not build: the model ends early and answers worse, and "
            + (
                f"boundary {asked}, which the draft needs, is never captured"
                if asked
                else "default boundaries are counted from the wrong number of layers"
            ),
            Severity.ERROR if asked else Severity.WARNING,
        )


def _finding(
    context: Context,
    config: ModelConfig,
    count: int,
    held: frozenset[int],
    but: str,
    why: str,
    severity: Severity,
) -> Finding:
    return Finding(
        f"{config.file} counts {count} layers, {but}",
        context.where("target", "checkpoint"),
        severity=severity,
        why=why,
        help=(
            f"take config and weights from one model; these files fit num_hidden_layers {max(held) + 1}"
            if len(held) == max(held) + 1
            else "download the checkpoint again"
        ),
        evidence=(
            config_line(config, "num_hidden_layers", "layers that the engine builds"),
            Evidence(context.model.target.checkpoint or "", "tensors", f"layers {_ranges(held)}"),
        ),
        values={"num_hidden_layers": count, "layers_in_files": len(held)},
    )


def _ranges(held: frozenset[int]) -> str:
    """``0-7, 9`` for the indexes in ``held``."""
    out: list[list[int]] = []
    for index in sorted(held):
        if out and out[-1][1] == index - 1:
            out[-1][1] = index
        else:
            out.append([index, index])
    shown = [f"{first}-{last}" if last > first else str(first) for first, last in out]
    return ", ".join(shown[:4]) + (", ..." if len(shown) > 4 else "")


RULE = Rule(
    id="EC816",
    slug="target-layers",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    follows=("EC803", "EC804", "EC814"),
)
