"""Shapes of speculation in a study's space that no engine can run, or that the engine would rewrite."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, NotChecked, Rule, Severity, Today
from eaglecfg.rules.study.parts import deployment_of, entries, is_range, split_key, study_model
from eaglecfg.schema.deployment import Speculative
from eaglecfg.source.span import KeyPath

_FIELDS = ("num_steps", "eagle_topk", "num_draft_tokens")
_MOST = 10_000
"""Combinations looked at; a space with more cannot be launched in a lifetime."""

Shape = tuple[int | None, int | None, int | None]


def check(context: Context) -> Iterator[Item]:
    """Combine steps, branches and draft tokens as the space does, and judge each combination."""
    study = study_model(context)
    if study is None:
        yield NotChecked("the study file lacks keys that it needs")
        return
    for path, shapes in sources(context, study.space):
        bad: list[tuple[Shape, str]] = []
        total = 0
        for shape in itertools.islice(shapes, _MOST):
            total += 1
            reason = fault_of(shape)
            if reason is not None:
                bad.append((shape, reason))
        if bad:
            yield _finding(path, bad, total)


def fault_of(shape: Shape) -> str | None:
    """Why a shape cannot run as written, None where it can. None in a shape is left to the engine."""
    steps, topk, tokens = shape
    for name, value in zip(_FIELDS, shape, strict=True):
        if value is not None and value < 1:
            return f"{name} must be at least 1"
    if tokens is not None and tokens < 2:
        return "num_draft_tokens must be at least 2: the root and one draft"
    if steps is None or topk is None or tokens is None:
        return None
    if topk == 1 and tokens != steps + 1:
        return f"a chain of {steps} steps has {steps + 1} draft tokens, and the engine rewrites the number"
    # The first step gives topk candidates, each further one topk for each of the topk kept; plus the root.
    most = 1 + topk + (steps - 1) * topk * topk
    if tokens > most:
        return f"a tree of {steps} steps with {topk} branches has at most {most} tokens"
    return None


def _finding(path: KeyPath, bad: Sequence[tuple[Shape, str]], total: int) -> Finding:
    shape, reason = bad[0]
    asked = ", ".join(
        f"{name} {value}" for name, value in zip(_FIELDS, shape, strict=True) if value is not None
    )
    every = len(bad) == total
    return Finding(
        f"{len(bad)} of {total} shapes in the space cannot run as written, the first with {asked}: {reason}",
        path=path,
        severity=Severity.ERROR if every else Severity.WARNING,
        why="the study would have nothing to launch"
        if every
        else "such a shape is not launched, or it is launched as another one and measured twice",
        help="leave num_draft_tokens out to let it follow num_steps, or list only shapes that can run",
    )


def sources(context: Context, space: Mapping[str, Any]) -> Iterator[tuple[KeyPath, Iterator[Shape]]]:
    """Each block of shapes with its place; keys of single numbers go over the deployment's own shape."""
    base = _base(context)
    single = {split_key(key)[1]: key for key in space if split_key(key)[0] == "speculative" and "." in key}
    keyed = {name: _numbers(space[key]) for name, key in single.items() if name in _FIELDS}
    blocks = [
        (at, item)
        for key, value in space.items()
        if key == "speculative"
        for at, item in entries(key, value)
        if isinstance(item, dict) and not is_range(item)
    ]
    for at, block in blocks:
        fields = {name: _numbers(block[name]) for name in _FIELDS if name in block}
        yield at, _combine(base, {**fields, **keyed})
    if keyed and not blocks:
        key = next(single[name] for name in _FIELDS if name in keyed)
        yield ("space", key), _combine(base, keyed)


def _combine(base: Mapping[str, int | None], chosen: Mapping[str, Sequence[int | None]]) -> Iterator[Shape]:
    """Every combination of what is chosen, the rest as in ``base``."""
    columns = [chosen.get(name, [base[name]]) for name in _FIELDS]
    for steps, topk, tokens in itertools.product(*columns):
        # A tuner that chooses the steps of a chain lets the draft tokens follow.
        follows = "num_steps" in chosen and "num_draft_tokens" not in chosen and topk in (None, 1)
        yield steps, topk, None if follows else tokens


def _base(context: Context) -> dict[str, int | None]:
    """The deployment's own numbers."""
    deployment = deployment_of(context)
    own = deployment.model.speculative if deployment is not None else None
    if not isinstance(own, Speculative):
        return dict.fromkeys(_FIELDS)
    return {name: getattr(own, name) for name in _FIELDS}


def _numbers(value: Any) -> list[int | None]:
    """Choices of one key that are whole numbers; None for one that leaves the key out."""
    out: list[int | None] = []
    for item in value if isinstance(value, list) else [value]:
        if is_range(item):
            out += _range_numbers(item)
        elif isinstance(item, int) and not isinstance(item, bool):
            out.append(item)
        elif item is None or item == "unset":
            out.append(None)
    return out or [None]


def _range_numbers(item: Mapping[str, Any]) -> list[int]:
    low, high, step = item.get("low"), item.get("high"), item.get("step", 1)
    if not all(isinstance(each, int) and not isinstance(each, bool) for each in (low, high, step)):
        return []
    if item.get("log") or not isinstance(low, int) or not isinstance(high, int) or step < 1:
        return [each for each in (low, high) if isinstance(each, int)]
    return list(range(low, min(high, low + _MOST) + 1, step))


RULE = Rule(
    id="EC709",
    slug="study-shapes",
    severity=Severity.WARNING,
    today=Today.REWRITTEN,
    check=check,
    scope="study",
)
