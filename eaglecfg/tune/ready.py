"""What is looked at before the first launch, so that no study ends in what could be known before."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from collections.abc import Mapping, Sequence

from eaglecfg.errors import UsageError
from eaglecfg.rules.study.surroundings import hidden_variables, server_environment
from eaglecfg.source.document import Document
from eaglecfg.source.span import KeyPath
from eaglecfg.tune.apply import make_patch
from eaglecfg.tune.arm import OFF, Arm, tree
from eaglecfg.tune.cold import first_s
from eaglecfg.tune.deadline import Deadline, launch_seconds
from eaglecfg.tune.design import MOST_ENUMERATED, Design
from eaglecfg.tune.history import History
from eaglecfg.tune.opened import Opened

PLACEHOLDER = re.compile(r"\{[A-Za-z_]\w*\}")
KNOWN = ("{python}", "{port}", "{cid}", "{marker}")
"""Words of a launch prefix that are filled in."""

MOST_TRIED = 200
"""Choices of one key whose patch is tried before the start."""


def _at(document: Document, path: KeyPath) -> str:
    start = document.place(path).value.start
    return f"{document.name}:{start.line}:{start.column}"


def check_prefix(opened: Opened, given: Sequence[str]) -> None:
    """Raise UsageError for a launch prefix that can start nothing; ``given`` is that of the command line."""
    where = "--launch-prefix" if given else f"{_at(opened.document, ('launch', 'prefix'))}: launch.prefix"
    if not opened.prefix:
        raise UsageError(f"{where}: expected the command that starts a server, got an empty list.")
    for word in opened.prefix:
        unknown = [name for name in PLACEHOLDER.findall(word) if name not in KNOWN]
        if unknown:
            raise UsageError(f"{where}: {unknown[0]} is not known; expected one of {', '.join(KNOWN)}.")
    study = opened.study
    for hidden in hidden_variables({}, given, study.space, opened.deployment.model):
        raise UsageError(f"{where} sets {hidden.what}, which {hidden.setter}; take it out of the command.")
    program = opened.prefix[0]
    around = server_environment(opened.deployment.model, study.launch.env)
    if shutil.which(program, path=around.get("PATH")) is None:
        raise UsageError(f"{where}: expected a program that can be run, got {program}, which is not found.")


def check_budget(opened: Opened, history: History, now: float) -> str:
    """A warning where the budget may not pay for both baselines twice, or nothing.

    Raises UsageError where it cannot, or where the time is too short for a single launch.
    """
    budget, design = opened.study.budget, opened.design
    need = 2 * len(design.baselines)
    if budget.launches is not None and budget.launches < need:
        raise UsageError(
            f"{_budget(opened, 'launches')}: expected at least {need}, which launches each baseline twice, "
            f"got {budget.launches}."
        )
    left = Deadline(budget, now, opened.assumed_launch_s).left_s(history, now)
    each = launch_seconds(history, opened.assumed_launch_s)
    if left is None or any(item.ok for item in history.launches):
        return ""
    if left < each:
        raise UsageError(
            f"{_budget(opened, 'hours', 'until')}: the budget leaves {max(left, 0):.0f} s, but one launch is "
            f"assumed to take {each:.0f} s: give a larger budget."
        )
    first = first_s(opened, history, each)
    if left < first + need * each:
        filling = ", after one launch that fills caches," if first else ""
        return (
            f"the budget leaves {left:.0f} s, and launching each baseline twice{filling} is assumed to take "
            f"{first + need * each:.0f} s: the study may end without a comparison"
        )
    return ""


def _budget(opened: Opened, *keys: str) -> str:
    """Where ``keys`` of the budget are from: an option where the file says something else, or its line."""
    data = opened.document.data
    written = data.get("budget") if isinstance(data, dict) else None
    written = written if isinstance(written, dict) else {}
    for key in keys:
        value = getattr(opened.study.budget, key)
        if value is not None and value != written.get(key):
            return f"--{key}"
    if len(keys) > 1:
        return _at(opened.document, ("budget",))
    return f"{_at(opened.document, ('budget', *keys))}: budget.{keys[0]}"


def check_patches(opened: Opened) -> None:
    """Raise UsageError where a choice of the space could not be written into the config."""
    space = opened.design.space
    trials: list[Mapping[str, object]] = [{"speculative": OFF}] if opened.design.off is not None else []
    for dimension in space.dimensions:
        points = itertools.islice(dimension.points(), MOST_TRIED)
        trials += [{dimension.key: dimension.value(point)} for point in points]
    for values in trials:
        try:
            arm = space.arm(values)
        except UsageError:
            continue  # no setting of its own; it is refused where it is met
        make_patch(opened.config, opened.deployment, arm.deployment)


def nothing_left(design: Design) -> str:
    """Why only baselines would be launched although more was asked for, or nothing."""
    asked = [label for label in design.rejected if label not in ("speculation off", "as it stands")]
    fixed = {arm.key for arm in design.baselines}
    if not asked or design.space.size > MOST_ENUMERATED or any(arm.key not in fixed for arm in design.arms):
        return ""
    return (
        f"nothing of the space is left to launch: the validator refuses {'; '.join(asked[:4])}"
        f"{f' and {len(asked) - 4} more' if len(asked) > 4 else ''} (--launch-anyway overrides)"
    )


def by_hand(arm: Arm) -> str:
    """The settings of ``arm`` that differ from the deployment, as a user would write them."""
    data = tree(arm.deployment)
    words = []
    for key in arm.changed:
        section, _, name = key.partition(".")
        value = data.get(section)
        if name:
            value = value.get(name) if isinstance(value, dict) else None
        words.append(f"{key}: {'(removed)' if value is None else json.dumps(value, ensure_ascii=False)}")
    return ", ".join(words).replace('"', "")
