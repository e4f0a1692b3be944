"""Limits of an objective must name what is measured."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Fix, Item, NotChecked, Rule, Severity, Today
from eaglecfg.rules.study.parts import study_model
from eaglecfg.schema.wording import nearest

_KNOWN = tuple(f"{what}_{share}_ms" for what in ("ttft", "tpot", "itl") for share in ("p50", "p95", "p99"))
_PARTS = re.compile(r"(ttft|tpot|itl)")


def check(context: Context) -> Iterator[Item]:
    """Look every limit up, and take only limits that a server can keep."""
    study = study_model(context)
    if study is None:
        yield NotChecked("the study file lacks keys that it needs")
        return
    for name, limit in study.objective.limits.items():
        path = ("objective", "limits", name)
        if name not in _KNOWN:
            part = _PARTS.match(name.lower())
            near = nearest(name, _KNOWN) or (f"{part[1]}_p99_ms" if part else None)
            yield Finding(
                f'objective.limits has the key "{name}", but nothing of that name is measured',
                path=path,
                at_key=True,
                why="a limit that is not measured is never broken",
                fix=_fix(name, near) if near else None,
                help=f"write {near}" if near else f"known limits are {', '.join(_KNOWN)}",
            )
        elif not (limit > 0 and math.isfinite(limit)):
            yield Finding(
                f"objective.limits.{name} takes milliseconds above 0, not {limit:g}",
                path=path,
                why="no setting could keep the limit, or every one would",
                help="write the longest time that is acceptable",
            )


def _fix(name: str, near: str) -> Fix:
    path = ("objective", "limits", name)
    return Fix(f"write {near} for {name}", path, near, kind="rename")


RULE = Rule(
    id="EC708",
    slug="objective-limits",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=check,
    scope="study",
)
