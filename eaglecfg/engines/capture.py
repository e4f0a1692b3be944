"""What a target class makes of a list of layer ids, and which marked layers its forward pass reaches."""

from __future__ import annotations

from collections.abc import Sequence

from eaglecfg.engines.facts import CaptureFact
from eaglecfg.record import record

RULES = {
    "plus_one": "adds 1 to every id",
    "plus_one_if_first_is_one": "adds 1 to every id only if the first id is 1",
    "as_is_if_max_is_n": "adds 1 to every id unless the greatest is the number of layers",
}
"""The id rules in words. Their names are the values of ``rule`` in the capture facts."""


@record
class Marks:
    """The layers marked for capture, in listed order, and what comes of it; fields as in Boundaries."""

    shifted: tuple[int, ...]
    captured: tuple[int, ...]
    offset: int | None
    rule: str
    outcome: str = "captured"
    reason: str = ""


def offset_of(rule: str, n: int, ids: Sequence[int]) -> int:
    """What ``rule`` adds to each of ``ids`` on a target of ``n`` layers. KeyError: unknown rule."""
    if rule == "plus_one_if_first_is_one":
        return 1 if ids and ids[0] == 1 else 0
    if rule == "as_is_if_max_is_n":
        return 0 if ids and max(ids) == n else 1
    return {"plus_one": 1, "as_is": 0}[rule]


def third_points(fact: CaptureFact, n: int) -> tuple[int, ...]:
    """The default boundaries of the class: third points of the depth, which one class shifts too."""
    step = 1 if fact.default == "third_points_plus_one" else 0
    return (2 + step, n // 2 + step, n - 3 + step)


def run_setter(fact: CaptureFact, n: int, ids: Sequence[int] | None) -> Marks:
    """Marks that the setter leaves on a target of ``n`` layers, and what a forward pass captures."""
    if ids is None:
        step = "the default [2, n // 2, n - 3]" + (", each plus 1" if fact.default != "third_points" else "")
        return _forward(fact, n, third_points(fact, n), None, step)
    offset = offset_of(fact.rule, n, ids)
    step = RULES[fact.rule]
    if fact.rule != "plus_one":
        step += f"; here it adds {offset}"
    return _forward(fact, n, tuple(one + offset for one in ids), offset, step)


def _forward(fact: CaptureFact, n: int, shifted: tuple[int, ...], offset: int | None, rule: str) -> Marks:
    start = _start_crash(fact, n, shifted)
    if start:
        return Marks(shifted, (), offset, rule, "crash_at_start", start)
    if not shifted:
        if fact.empty == "nothing":
            return Marks(
                shifted, (), offset, rule, "nothing", "an empty id list captures nothing, and nothing says so"
            )
        return Marks(
            shifted, (), offset, rule, "crash_at_first_request",
            "an empty id list captures nothing, and unpacking the target's output fails",
        )  # fmt: skip
    wrapped = [one for one in shifted if one < 0 and fact.flags]
    reached = {one + n if one in wrapped else one for one in shifted}
    captured = tuple(sorted(one for one in reached if _reachable(fact, n, one)))
    if 0 in shifted and fact.embedding == "crash":
        return Marks(
            shifted, captured, offset, rule, "crash_at_first_request",
            "boundary 0 is the embedding, which has no residual to add in this class and version (TypeError)",
        )  # fmt: skip
    if len(captured) < len(shifted):
        return Marks(shifted, captured, offset, rule, "short", _short_reason(fact, n, shifted, captured))
    if wrapped:
        return Marks(
            shifted, captured, offset, rule, "wrapped",
            f"boundary {wrapped[0]} is a negative index and marks layer {wrapped[0] + n} instead",
        )  # fmt: skip
    return Marks(shifted, captured, offset, rule)


def _reachable(fact: CaptureFact, n: int, boundary: int) -> bool:
    return 0 <= boundary < n or (boundary == n and fact.last == "captured")


def _start_crash(fact: CaptureFact, n: int, shifted: tuple[int, ...]) -> str:
    """Why the setter itself raises, empty if it does not: it indexes the layers with each boundary."""
    if fact.last != "crash_at_start":
        return ""
    for one in shifted:
        if one >= n or one < -n:
            return f"boundary {one} indexes past the {n} layers of the target (IndexError in the setter)"
    return ""


def _short_reason(fact: CaptureFact, n: int, shifted: tuple[int, ...], captured: tuple[int, ...]) -> str:
    missing = [one for one in dict.fromkeys(shifted) if one not in captured and not (fact.flags and one < 0)]
    if not missing:
        cause = "a layer that is listed twice is captured once"
    elif missing[0] == n:
        cause = f"boundary {n} is the output of the last layer, which this class never captures"
    elif missing[0] > n:
        cause = f"boundary {missing[0]} lies past the last of the {n} layers"
    else:
        cause = f"boundary {missing[0]} is below the embedding"
    count = f"{len(captured)} of {len(shifted)} states are captured"
    raises = ", and the target's own packer raises" if fact.packer and captured else ""
    return f"{cause}: {count}{raises}"
