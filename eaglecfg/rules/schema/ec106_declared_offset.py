"""The offset between capture layer ids and boundaries that a deployment counts on must be the engine's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eaglecfg.engines.boundaries import Boundaries
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.model import (
    Evidence,
    Finding,
    Fix,
    Item,
    Need,
    NotApplicable,
    NotChecked,
    Rule,
    Severity,
    Today,
)
from eaglecfg.rules.schema.lines import architecture_line


def check(context: Context) -> Iterator[Item]:
    """Compare ``capture.offset`` with what this engine version adds for this target class."""
    declared = context.model.capture.offset
    if declared is None:
        yield NotApplicable()
        return
    found = context.boundaries
    if found is None:
        yield NotChecked("needs the captured boundaries")
        return
    if found.offset == declared:
        return
    ids = found.ids if found.ids is not None else context.model.capture.layer_ids
    expected = [each + declared for each in ids] if ids is not None else None
    assert context.engine is not None
    engine = engine_label(context)
    yield Finding(
        _message(engine, declared, ids, expected, found),
        path=context.where("capture", "offset"),
        why="the draft is fed the residual stream of other layers than this file counts on",
        help=_help(context, expected, found),
        evidence=_evidence(context, found),
        related=((("engine", "version"), f"{engine}: {found.rule}"),),
        values={
            "layer_ids": list(ids) if ids is not None else None,
            "declared_offset": declared,
            "declared_boundaries": expected,
            "effective_offset": found.offset,
            "effective_boundaries": list(found.captured),
        },
        arithmetic=_arithmetic(ids, declared, found),
        fix=_fix(context, found),
    )


def _message(
    engine: str, declared: int, ids: Sequence[int] | None, expected: list[int] | None, found: Boundaries
) -> str:
    captured = _listed(found.captured) if found.captured else "nothing"
    if found.ids is None:
        given = f"ids {_listed(ids)} and offset {declared} mean {_listed(expected)}, but " if expected else ""
        return f"{given}{engine} reads no ids here and captures its default boundaries {captured}"
    return (
        f"ids {_listed(found.ids)} with the declared offset {declared} are boundaries "
        f"{_listed(expected or ())}, but {engine} captures {captured} (offset {_effective(found)})"
    )


def _effective(found: Boundaries) -> str:
    return "differs from id to id" if found.offset is None else str(found.offset)


def _help(context: Context, expected: list[int] | None, found: Boundaries) -> str:
    trained = context.trained
    keep = (
        f"run an engine version that captures {_listed(expected)}" if expected else "give the draft its ids"
    )
    accept = "remove capture.offset" if found.offset is None else f"write offset: {found.offset}"
    if trained is None:
        return f"{accept} if the draft was trained on {_listed(found.captured)}; otherwise {keep}"
    if tuple(trained) == tuple(found.captured):
        return f"{accept}: the draft was trained on {_listed(trained)}, which is what is captured"
    if expected is not None and list(trained) == expected:
        return f"{keep}: that is what the draft was trained on"
    return f"the draft was trained on {_listed(trained)}, which neither offset gives; check the capture ids"


def _evidence(context: Context, found: Boundaries) -> tuple[Evidence, ...]:
    assert context.engine is not None
    engine = Evidence(f"{context.engine.name} {found.read_in}", found.source, found.rule)
    if context.target is None or context.target.config is None:
        return (engine,)
    return (engine, architecture_line(context.target.config, "the class that decides the offset"))


def _arithmetic(ids: Sequence[int] | None, declared: int, found: Boundaries) -> tuple[str, ...]:
    if ids is None:
        return ()
    lines = [f"declared: {', '.join(f'{each} + {declared} = {each + declared}' for each in ids)}"]
    if found.ids is not None and len(found.shifted) == len(found.ids):
        pairs = zip(found.ids, found.shifted, strict=True)
        lines.append(f"effective: {', '.join(f'{a} + {b - a} = {b}' for a, b in pairs)}")
    return tuple(lines)


def _fix(context: Context, found: Boundaries) -> Fix | None:
    # Only where the training says that what is captured is right is the declaration the mistake.
    trained = context.trained
    if found.offset is None or trained is None or tuple(trained) != tuple(found.captured):
        return None
    path = context.where("capture", "offset")
    return Fix(f"set capture.offset to {found.offset}", path, str(found.offset), safe=True)


def _listed(numbers: Sequence[int] | None) -> str:
    return f"[{', '.join(map(str, numbers or ()))}]"


RULE = Rule(
    id="EC106",
    slug="declared-offset",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG, Need.DRAFT_CONFIG),
    follows=("EC201", *UNLOADABLE),
)
