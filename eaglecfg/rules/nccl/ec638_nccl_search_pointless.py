"""A study that searches NCCL's settings where NCCL does not carry decode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from eaglecfg.rules.context import Checkpoints, Context, deployment_context
from eaglecfg.rules.model import Finding, Item, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.study.parts import deployment_of, entries, split_key, study_model

if TYPE_CHECKING:
    from eaglecfg.nccl.carrier import Carrier
    from eaglecfg.schema.study import StudyFile

FREES = (
    "disable_custom_all_reduce",
    "enable_deterministic_inference",
    "enable_dp_attention",
    "enable_mscclpp",
    "enable_torch_symm_mem",
    "tp_size",
    "nnodes",
)
"""Keys that may put NCCL on the path of decode when the space changes them."""


def check(context: Context) -> Iterator[Item]:
    """Tuning NCCL is worth launches only where NCCL carries decode in some part of the space."""
    study, deployment = study_model(context), deployment_of(context)
    keys = [] if study is None else [key for key in study.space if _tunes(key)]
    if study is None or deployment is None or context.study_config is None or not keys:
        yield NotApplicable()
        return
    if _frees(study):
        return
    carrier = _carrier(deployment_context(context.study_config, deployment, Checkpoints()))
    if carrier.name == "unknown":
        yield NotChecked(f"whether NCCL carries decode: declare {' and '.join(carrier.wanted)}")
    elif carrier.name in ("none", "custom", "fused"):
        yield Finding(
            f"the space searches {', '.join(keys)}, but NCCL does not carry decode of {deployment.name}: "
            f"{carrier.why}",
            path=("space", keys[0]),
            at_key=True,
            why="trials that differ in nothing that decode meets measure noise, and cost a launch each",
            help="add server.disable_custom_all_reduce: [false, true] to the space, or leave NCCL out of it",
            related=tuple((("space", key), "nor this") for key in keys[1:]),
            values={"carrier": carrier.name, "keys": keys},
        )


def _tunes(key: str) -> bool:
    """Whether a key of the space is an NCCL variable that is meant for decode's all-reduce."""
    section, name = split_key(key)
    if section not in ("nccl", "env") or not name:
        return False
    from eaglecfg.engines.command import environment_name
    from eaglecfg.nccl.facts import variable_fact
    from eaglecfg.rules.nccl.ec629_nccl_not_on_decode_path import TUNING

    fact = variable_fact(environment_name(name) if section == "nccl" else name)
    return fact is not None and fact.acts in TUNING


def _frees(study: StudyFile) -> bool:
    if any(flag.lstrip("-").replace("-", "_").partition("=")[0] in FREES for flag in study.launch.flags):
        return True
    for key, value in study.space.items():
        section, name = split_key(key)
        if section == "env" and name == "CUDA_VISIBLE_DEVICES":
            return True
        if section in ("server", "parallel") and name in FREES:
            return name in ("tp_size", "nnodes") or any(choice is True for _, choice in entries(key, value))
    return False


def _carrier(context: Context) -> Carrier:
    from eaglecfg.rules.nccl.settings import look

    return look(context).carrier()


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
