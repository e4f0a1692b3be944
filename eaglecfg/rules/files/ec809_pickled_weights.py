"""Weights in .bin files are pickles, and a pickle is a program."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.fault import listed
from eaglecfg.rules.context import Context
from eaglecfg.rules.files.problems import weighted
from eaglecfg.rules.model import Evidence, Finding, Item, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """Worth knowing wherever weights come as .bin files only."""
    for side, facts in weighted(context):
        if facts.weights != "bin":
            continue
        names = [name for name in facts.files if name.endswith(".bin")]
        yield Finding(
            f"{facts.shown} has its weights only in pickles: {listed(names)}",
            context.where(side, "checkpoint"),
            why="unpickling can run code: SGLang forbids it (weights_only), other tools may not",
            help="convert the checkpoint to safetensors",
            evidence=tuple(Evidence(f"{facts.shown}/{name}", "file", "PyTorch pickle") for name in names[:3]),
            values={"checkpoint": side, "files": len(names)},
        )


RULE = Rule(
    id="EC809",
    slug="pickled-weights",
    severity=Severity.INFO,
    today=Today.NOTHING,
    check=check,
)
