"""A checkpoint that brings Python code of its own: who runs it, and is it there."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.facts import CheckpointFacts
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.files.problems import Side, checkpoints, finding, of_kinds
from eaglecfg.rules.model import Finding, Item, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """``auto_map`` names classes in Python files of the checkpoint, which trust_remote_code lets run."""
    trusted = context.argument("trust_remote_code") is True
    for side, facts in checkpoints(context):
        missing = of_kinds(facts, "missing-code")
        if trusted and missing:
            why = "trust_remote_code is on, so the engine looks for the file and stops without it"
            yield finding(
                context, side, missing, why=why, severity=Severity.WARNING, today=Today.CRASH_AT_START
            )
        elif facts.config is not None and _names_code(facts.config.raw.get("auto_map")):
            yield _note(context, side, facts, trusted)


def _names_code(auto_map: object) -> bool:
    """Whether ``auto_map`` names a class at all; an empty one, or one of nulls, names none."""
    return isinstance(auto_map, dict) and any(map(bool, auto_map.values()))


def _note(context: Context, side: Side, facts: CheckpointFacts, trusted: bool) -> Finding:
    config = facts.config
    assert config is not None
    model_type = config.top("model_type")
    named = f"model_type {model_type.value}" if model_type is not None else "the model"
    if trusted:
        message = f"{config.file} names Python code of its own (auto_map), which trust_remote_code lets run"
        why = "the server runs that code with its own rights"
        help = "read the Python files, and keep the folder or the revision fixed"
    else:
        message = f"{config.file} names Python code of its own (auto_map), and trust_remote_code is not set"
        why = f"the server starts only where the engine knows {named} by itself"
        help = "set server.trust_remote_code if the engine asks for it, once the Python files are read"
    path = context.argument_path("trust_remote_code") if trusted else context.where(side, "checkpoint")
    return Finding(message, path, why=why, help=help, evidence=(config_line(config, "auto_map"),))


RULE = Rule(
    id="EC810",
    slug="code-in-checkpoint",
    severity=Severity.INFO,
    today=Today.NOTHING,
    check=check,
    research=("OVR-02",),
)
