"""What the config names cannot be read here, so that nothing in it was checked."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.files.problems import checkpoints, finding, of_kinds
from eaglecfg.rules.model import Item, NotChecked, Rule, Severity, Today

_NOT_CACHED = "a checkpoint is no folder here and not in the hub cache (--online reads it from the hub)"
_NOT_FROM_HUB = "a checkpoint is no folder here, and could not be read from the hub"

UNREAD = ("not-local", "missing-folder", "unreadable", "not-supported")


def check(context: Context) -> Iterator[Item]:
    """A checkpoint must be a folder of this machine that can be read; what is not never passes."""
    for side, facts in checkpoints(context):
        if problems := of_kinds(facts, "not-a-folder"):
            yield finding(context, side, problems, why="engines take a folder or a hub id here")
        if problems := of_kinds(facts, "hub-link"):
            why = "hub libraries link into the model's own folder; what lies elsewhere is not the model's"
            yield finding(context, side, problems, why=why, today=Today.SILENT)
        for problem in of_kinds(facts, *UNREAD)[:3]:
            path = context.where(side, "checkpoint")
            lack = ""
            if problem.kind == "not-local" and facts.hub is not None:
                lack = _NOT_CACHED if "--online" in problem.help else _NOT_FROM_HUB
            yield NotChecked(f"{side}.checkpoint: {problem.message}", True, path, problem.help, lack)
        for problem in of_kinds(facts, "unknown-dtype")[:3]:
            yield NotChecked(_reason(side, problem.message, problem.help))


def _reason(side: str, message: str, help: str) -> str:
    return f"{side}.checkpoint: {message}" + (f"; {help}" if help else "")


RULE = Rule(
    id="EC801",
    slug="checkpoint-unread",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
)
