"""A study that searches NCCL's settings where NCCL does not carry decode."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from eaglecfg.record import replace
from eaglecfg.rules.context import Checkpoints, Context, deployment_context
from eaglecfg.rules.model import Finding, Item, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.study.parts import (
    UNSET,
    block_entries,
    deployment_of,
    entries,
    split_key,
    study_model,
)

if TYPE_CHECKING:
    from eaglecfg.nccl.decode_path import DecodePath
    from eaglecfg.nccl.paths import Taken
    from eaglecfg.rules.nccl.settings import Settings
    from eaglecfg.schema.deployment import Deployment
    from eaglecfg.schema.loaded import LoadedConfig, LoadedDeployment
    from eaglecfg.schema.study import StudyFile

MOST_LOOKED_AT = 64
"""Combinations of keys that may decide who carries decode; of a space with more nothing is said."""


def check(context: Context) -> Iterator[Item]:
    """Tuning NCCL is worth launches only where NCCL carries decode in some part of the space."""
    study, deployment = study_model(context), deployment_of(context)
    keys = _nccl_keys(study)
    if study is None or deployment is None or context.study_config is None or not keys:
        yield NotApplicable()
        return
    from eaglecfg.rules.nccl.paths import open_because

    models = None if _decided_by(study, context.study_config) else list(_models(study, deployment.model))
    if not models:
        return
    paths = [_path(context.study_config, replace(deployment, model=model)) for model in models]
    taken = None
    for view, path in paths:
        if path is None or path.nccl:
            unsettled = open_because(view, path) if len(paths) == 1 else ""
            if unsettled:
                yield NotChecked(unsettled)
            return
        taken = taken or path.takers[0]
    assert taken is not None
    yield _finding(deployment.name, keys, taken, every=len(paths) > 1)


def _nccl_keys(study: StudyFile | None) -> list[str]:
    """Keys of the space that are NCCL variables meant for decode's all-reduce."""
    if study is None:
        return []
    from eaglecfg.rules.nccl.searched import tunes_decode

    return [
        key
        for key, value in study.space.items()
        if tunes_decode(*split_key(key))
        or (key == "nccl" and any(tunes_decode(*split_key(name)) for name, _, _ in block_entries(key, value)))
    ]


def _finding(name: str, keys: list[str], taken: Taken, *, every: bool) -> Finding:
    from eaglecfg.nccl.paths import TITLES

    who = taken.why if taken.carrier == "none" else f"{TITLES[taken.carrier]} does, {taken.why}"
    return Finding(
        f"the space searches {', '.join(keys)}, but NCCL does not carry decode of {name}"
        f"{', whatever else the space chooses' if every else ''}: {who}",
        path=("space", keys[0]),
        at_key=True,
        why="trials that differ in nothing that decode meets measure noise, and cost a launch each",
        help="leave NCCL's keys out of the space, or let it choose what hands decode to NCCL, such as "
        "server.disable_custom_all_reduce",
        related=tuple((("space", key), "nor this") for key in keys[1:]),
        values={"carrier": taken.carrier, "keys": keys},
    )


def _decided_by(study: StudyFile, config: LoadedConfig) -> bool:
    """Whether the study hands the server a flag behind the deployment's back that may decide it."""
    from eaglecfg.engines.table import facts_of
    from eaglecfg.rules.nccl.searched import decided_by

    return decided_by((*study.launch.prefix, *study.launch.flags), facts_of(config.engine))


def _models(study: StudyFile, base: Deployment) -> Iterator[Deployment]:
    """The deployment under every combination of the choices that may decide who carries decode; none where
    there are too many, or where they are not choices."""
    from eaglecfg.rules.nccl.searched import may_decide

    keys = [key for key in study.space if may_decide(*split_key(key))]
    choices = [[value for _, value in entries(key, study.space[key])] for key in keys]
    if any(isinstance(value, dict) for each in choices for value in each):
        return
    if math.prod(map(len, choices)) > MOST_LOOKED_AT or any(key.partition(".")[0] == "draft" for key in keys):
        return
    from eaglecfg.rules.study.surroundings import surrounded

    whole = surrounded(base, study.launch.env)
    for values in itertools.product(*choices):
        data = whole.model_dump(mode="python", exclude_unset=True)
        for key, value in zip(keys, values, strict=True):
            _put(data, key, value)
        with suppress(ValueError):  # a value that the schema refuses, which rules of its own speak of
            yield type(base).model_validate(data)


def _put(data: dict[str, Any], key: str, value: Any) -> None:
    section, name = split_key(key)
    if not name:
        data[section] = value
        return
    old = data.get(section)
    if old is not None and not isinstance(old, dict):
        return  # speculation that is off has no shape
    block = {one: item for one, item in (old or {}).items() if one.lstrip("-").replace("-", "_") != name}
    if section == "env":
        block = {one: item for one, item in (old or {}).items() if one != name}
    data[section] = block if value == UNSET else block | {name: str(value) if section == "env" else value}


def _path(config: LoadedConfig, deployment: LoadedDeployment) -> tuple[Settings, DecodePath | None]:
    from eaglecfg.rules.nccl.paths import path_of
    from eaglecfg.rules.nccl.settings import look

    context = deployment_context(config, deployment, Checkpoints())
    return look(context), path_of(context)


RULE = Rule(
    id="EC638",
    slug="nccl-search-pointless",
    severity=Severity.WARNING,
    today=Today.NOTHING,
    check=check,
    scope="study",
    follows=("EC702", "EC703"),
    research=("nccl/S004",),
)
