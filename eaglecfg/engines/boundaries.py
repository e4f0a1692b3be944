"""Which boundaries an engine version really captures. The core function of the project."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.engines.capture import Marks, run_setter, third_points
from eaglecfg.engines.facts import CaptureFact, EngineFacts
from eaglecfg.engines.reading import CaptureRequest, layer_count, read_request, running_class
from eaglecfg.record import record, replace

if TYPE_CHECKING:
    from eaglecfg.engines.resolve import Resolution

Outcome = Literal["captured", "short", "crash_at_start", "crash_at_first_request", "wrapped", "nothing"]


@record
class Boundaries:
    """The answer for one target class, depth, id list and engine version.

    ``ids``: as given, None when the engine falls back to its default. ``shifted``: what the class makes of
    them, in listed order. ``captured``: the distinct boundaries that reach the draft, ascending, as the
    layers run. ``offset``: added to every id, None for the default. ``rule``: that step in words.
    ``outcome``: ``captured``, or what goes wrong: ``short`` (fewer states than ids, crash at the first
    request), ``crash_at_start``, ``crash_at_first_request``, ``wrapped`` (a negative index marks another
    layer, silent), ``nothing`` (no capture). ``reason`` says why in one sentence. ``decode``: captured by
    CUDA graphs where that differs from eager prefill, else None. ``source``: ``file:line`` in the wheel
    ``read_in``. ``layers`` is n, ``deferred`` as in CaptureFact.
    """

    ids: tuple[int, ...] | None
    shifted: tuple[int, ...]
    captured: tuple[int, ...]
    offset: int | None
    rule: str
    outcome: Outcome
    reason: str
    decode: tuple[int, ...] | None
    residual: bool
    source: str
    read_in: str
    layers: int | None = None
    deferred: bool = False


def effective_boundaries(
    facts: EngineFacts, architecture: str, n: int, ids: Sequence[int] | None, *, graphs: bool = True
) -> Boundaries | None:
    """Boundaries that ``architecture`` with ``n`` layers captures for ``ids`` (None: its default).

    ``graphs``: decode runs in CUDA graphs. None: this version does not register the class, so nothing can be
    said.
    """
    fact = facts.captures.get(architecture)
    if fact is None:
        return _without_setter(facts, architecture, n) if architecture in facts.architectures else None
    marks = run_setter(fact, n, ids)
    answer = _answer(fact, n, ids, marks)
    if ids is not None and graphs and facts.values["graph_resets_layers"] and fact.usable:
        answer = _after_graph_reset(fact, n, answer)
    return answer


def boundaries_of(
    facts: EngineFacts, target: ModelConfig | None, draft: ModelConfig | None, resolution: Resolution
) -> Boundaries | None:
    """Boundaries captured for this target and draft, ids read exactly as this engine version reads them.

    None: not an EAGLE run, a config is missing, or the target class or its depth is not known.
    """
    algorithm = resolution.runs("speculative_algorithm")
    if target is None or draft is None or not isinstance(algorithm, str):
        return None
    target, draft = resolution.overridden(target), resolution.overridden(draft)
    architecture = running_class(facts, target, resolution)
    if architecture is None:
        return None
    fact = facts.captures.get(architecture)
    n = layer_count(target, fact.depth if fact is not None else "text")
    if n is None:
        return None
    if algorithm == "EAGLE":
        return _nothing(
            fact, n, "algorithm EAGLE captures no layers: the draft is fed the target's last hidden state"
        )
    if algorithm != "EAGLE3":
        return None
    request = read_request(draft, honours_use_aux=facts.values["capture_honours_use_aux"])
    if not request.captures:
        return _nothing(fact, n, request.reason)
    if request.broken:
        return _crash(fact, n, request)
    answer = effective_boundaries(facts, architecture, n, request.ids, graphs=resolution.graphs)
    if answer is not None and request.ids is None and answer.outcome == "captured":
        return replace(answer, reason=request.reason)
    return answer


def _answer(fact: CaptureFact, n: int, ids: Sequence[int] | None, marks: Marks) -> Boundaries:
    outcome, reason, captured = marks.outcome, marks.reason, marks.captured
    if not fact.usable:
        outcome, reason, captured = fact.outcome, f"{fact.architecture} cannot run EAGLE3: {fact.reason}", ()
    return Boundaries(
        ids=None if ids is None else tuple(ids),
        shifted=marks.shifted,
        captured=captured,
        offset=marks.offset,
        rule=marks.rule,
        outcome=outcome,  # type: ignore[arg-type]
        reason=reason or fact.note,
        decode=None,
        residual=fact.residual,
        source=fact.source,
        read_in=fact.read_in,
        layers=n,
        deferred=fact.deferred,
    )


def _after_graph_reset(fact: CaptureFact, n: int, answer: Boundaries) -> Boundaries:
    """What CUDA graphs leave of the ids where the graph runner sets the default layers before it captures."""
    default = tuple(sorted({one for one in third_points(fact, n) if 0 <= one <= n}))
    if answer.outcome == "crash_at_start" or default == answer.captured:
        return answer
    if not fact.flags:
        return replace(answer, decode=default)
    # Flags of the default layers stay set when the ids set theirs: eager prefill captures both.
    union = tuple(sorted({*default, *answer.captured}))
    return replace(
        answer,
        captured=union,
        decode=default,
        outcome="crash_at_first_request",
        reason=(
            f"the graph runner marks the default layers too, so that prefill captures {len(union)} states "
            f"where the draft expects {len(answer.shifted)}"
        ),
    )


def _without_setter(facts: EngineFacts, architecture: str, n: int) -> Boundaries:
    return Boundaries(
        ids=None,
        shifted=(),
        captured=(),
        offset=None,
        rule="",
        outcome="crash_at_start",
        reason=f"{architecture} has no EAGLE-3 capture in {facts.name} {facts.facts_of} and stops at start",
        decode=None,
        residual=True,
        source="",
        read_in=facts.facts_of,
        layers=n,
    )


def _nothing(fact: CaptureFact | None, n: int, reason: str) -> Boundaries:
    return Boundaries(
        ids=None,
        shifted=(),
        captured=(),
        offset=None,
        rule="",
        outcome="nothing",
        reason=reason,
        decode=None,
        residual=True,
        source=fact.source if fact is not None else "",
        read_in=fact.read_in if fact is not None else "",
        layers=n,
    )


def _crash(fact: CaptureFact | None, n: int, request: CaptureRequest) -> Boundaries:
    return replace(_nothing(fact, n, request.reason), outcome="crash_at_start")
