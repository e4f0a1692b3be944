"""Why a list of ids does not give as many states as it has entries; each reason has a rule of its own."""

from __future__ import annotations

from typing import Literal

from eaglecfg.engines.boundaries import Boundaries, effective_boundaries
from eaglecfg.rules.capture.elsewhere import captures_of
from eaglecfg.rules.capture.ids import (
    depth_line,
    draft_config,
    engine_line,
    ids_line,
    ids_path,
    layers,
    shift_lines,
    target_config,
)
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Need, Today
from eaglecfg.rules.versions import in_words

Reason = Literal["default", "empty", "duplicate", "beyond", "negative", "embedding", "last"]

NEEDS = (Need.ENGINE, Need.TARGET_CONFIG, Need.DRAFT_CONFIG, Need.CAPTURE)
OUT_OF_REACH = ("EC207", "EC208", "EC209", "EC210", "EC211", "EC214", "EC215")
"""The rules that report these reasons."""

FOLLOWS = ("EC202", "EC203", *UNLOADABLE)

_TODAY = {
    "short": Today.CRASH_AT_FIRST_REQUEST,
    "crash_at_first_request": Today.CRASH_AT_FIRST_REQUEST,
    "crash_at_start": Today.CRASH_AT_START,
    "wrapped": Today.SILENT,
}


def reason(context: Context) -> Reason | None:
    """The first thing wrong with the ids; None where all of them are captured, or nothing at all is."""
    found, n = context.boundaries, layers(context)
    assert found is not None
    if n is None or found.outcome in ("captured", "nothing"):
        return None
    if found.ids is None and not found.shifted:
        return None  # the class cannot capture at all, which a rule of its own says
    if found.ids is None:
        return "default"
    if not found.ids:
        return "empty"
    if len(set(found.ids)) < len(found.ids):
        return "duplicate"
    if max(found.shifted) > n:
        return "beyond"
    if min(found.shifted) < 0:
        return "negative"
    if max(found.shifted) == n and (0 not in found.shifted or _works_without_last(context, found, n)):
        return "last"
    return "embedding" if 0 in found.shifted else None


def _works_without_last(context: Context, found: Boundaries, n: int) -> bool:
    """Whether the list is captured without its largest entry, so that the embedding is not at fault."""
    architecture = target_config(context).architecture
    assert context.engine is not None
    assert architecture is not None
    rest = tuple(i for i in found.ids or () if i != max(found.ids or (0,)))
    other = effective_boundaries(context.engine, architecture, n, rest, graphs=False)
    return other is not None and other.outcome == "captured"


def finding(context: Context, message: str, why: str, help: str) -> Finding:
    """A finding about ids out of reach, with the evidence that all of these share."""
    found, n = context.boundaries, layers(context)
    assert found is not None
    return Finding(
        message,
        path=ids_path(context),
        today=_TODAY.get(found.outcome),
        why=f"{why}; {found.reason}" if found.reason else why,
        help=help + _other_versions(context),
        evidence=(
            ids_line(draft_config(context), "ids as the engine reads them"),
            depth_line(target_config(context), "depth of the target"),
            engine_line(context),
        ),
        values={
            "ids": list(found.ids) if found.ids is not None else None,
            "effective_boundaries": list(found.captured),
            "trained_boundaries": list(context.trained) if context.trained is not None else None,
            "num_hidden_layers": n,
        },
        arithmetic=shift_lines(found.ids, found.shifted, n),
    )


def _other_versions(context: Context) -> str:
    """Versions of the engine in which the same files work, if any."""
    found, n = context.boundaries, layers(context)
    assert found is not None
    if n is None:
        return ""
    captures = captures_of(context, found.ids, n)
    good = [v for v, got in captures.items() if got is not None and context.trained in (None, got)]
    return f"; sglang {in_words(list(captures), good)} captures all of them" if good else ""
