"""What the keys of a study's space have to do with the all-reduce of decode."""

from __future__ import annotations

from collections.abc import Iterable

from eaglecfg.engines.command import environment_name
from eaglecfg.engines.facts import EngineFacts
from eaglecfg.nccl.facts import variable_fact
from eaglecfg.nccl.paths import DECIDES
from eaglecfg.rules.nccl.ec629_nccl_not_on_decode_path import TUNING


def tunes_decode(section: str, name: str) -> bool:
    """Whether a key (``nccl``, ``proto``) is an NCCL variable that is meant for decode's all-reduce."""
    if section not in ("nccl", "env") or not name:
        return False
    fact = variable_fact(environment_name(name) if section == "nccl" else name)
    return fact is not None and fact.acts in TUNING


def may_decide(section: str, name: str) -> bool:
    """Whether a key may decide who carries an all-reduce, or how large it is."""
    if section == "server":
        return name in DECIDES
    if section == "env":
        return not name.startswith("NCCL_")
    return section in ("parallel", "speculative", "draft")


def decided_by(words: Iterable[str], facts: EngineFacts | None) -> bool:
    """Whether ``words`` of a command hold a flag that may decide it; ``facts`` tell beginnings of names."""
    for word in words:
        name = word.partition("=")[0].lstrip("-").replace("-", "_")
        if word.startswith("--") and (facts.flags.canonical(name) if facts is not None else name) in DECIDES:
            return True
    return False
