"""CUDA graphs of older versions capture the default boundaries, whatever the ids say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eaglecfg.engines.boundaries import effective_boundaries
from eaglecfg.rules.capture.ids import (
    depth_line,
    draft_config,
    engine_line,
    ids_line,
    layers,
    spelled,
    target_config,
    third_points,
)
from eaglecfg.rules.capture.reach import FOLLOWS, OUT_OF_REACH
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.model import Finding, Item, Need, Rule, Severity, Today
from eaglecfg.rules.versions import later_versions


def check(context: Context) -> Iterator[Item]:
    """What the graphs capture must be what eager prefill captures."""
    found = context.boundaries
    assert found is not None
    asked = tuple(sorted(set(found.shifted)))
    if found.decode is None or found.outcome not in ("captured", "crash_at_first_request"):
        return
    if found.outcome == "captured" and found.captured != context.trained == found.decode:
        return  # the ids that EC201 tells to write are those that the graphs follow by default
    crash = found.outcome == "crash_at_first_request"
    n = layers(context)
    # Ids that count boundaries by their pattern: the graphs are right by luck, and prefill is not.
    lucky = context.trained is None and n is not None and found.ids is not None
    lucky = lucky and tuple(sorted(found.ids or ())) == third_points(n or 0) == found.decode
    fixed = _first_fixed(context, found.decode if lucky else None)
    repaired = f"; repaired in {fixed}" if fixed and not lucky else ""
    yield Finding(
        f"CUDA graphs of {engine_label(context)} capture the default boundaries {spelled(found.decode)}, not "
        f"{spelled(asked)} as the draft's ids ask{repaired}",
        path=("engine", "version"),
        related=((context.where("draft", "checkpoint"), f"ids {spelled(found.ids or ())}"),),
        today=Today.CRASH_AT_FIRST_REQUEST if crash else Today.SILENT,
        why=found.reason
        if crash
        else "the graph runner resets the layers before it records; prefill follows the ids, decoding "
        "never does, and nothing is logged",
        help=_advice(found.decode, fixed, lucky),
        evidence=(
            ids_line(draft_config(context), "followed by prefill only"),
            depth_line(target_config(context), "depth of the target"),
            engine_line(context),
        ),
        values={
            "effective_boundaries": list(asked),
            "graph_boundaries": list(found.decode),
            "trained_boundaries": list(context.trained) if context.trained is not None else None,
        },
    )


def _advice(decode: Sequence[int], fixed: str | None, lucky: bool) -> str:
    run = f"run sglang {fixed} or later" if fixed else "run another version"
    if lucky:
        does = f", which captures {spelled(decode)} throughout" if fixed else ""
        return f"the ids look like boundaries: if the draft was trained on {spelled(decode)}, {run}{does}"
    return f"{run}, or set server.disable_cuda_graph: true, which costs speed"


def _first_fixed(context: Context, wanted: Sequence[int] | None) -> str | None:
    """The first later version whose graphs follow the ids, and that captures ``wanted`` where given."""
    found, n = context.boundaries, layers(context)
    architecture = target_config(context).architecture
    assert found is not None
    assert context.engine is not None
    if n is None or architecture is None:
        return None
    for facts in later_versions(context.engine):
        other = effective_boundaries(facts, architecture, n, found.ids)
        if other is None or other.outcome != "captured" or other.decode not in (None, other.captured):
            continue
        if wanted is None or tuple(other.captured) == tuple(wanted):
            return facts.version
    return None


RULE = Rule(
    id="EC901",
    slug="graphs-capture-default",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG, Need.DRAFT_CONFIG, Need.CAPTURE),
    follows=(*FOLLOWS, *OUT_OF_REACH),
    research=("IDS-20",),
)
