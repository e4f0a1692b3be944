"""Switches for debugging, and others that cost time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings
from eaglecfg.rules.remedies import without_variable

if TYPE_CHECKING:
    from eaglecfg.rules.nccl.settings import Settings

ON = ("1", "true", "TRUE", "True")


def check(ctx: Context) -> Iterator[Item]:
    """Debugging left on, copies by the copy engine, forced order."""
    view = settings(ctx)
    if view is None:
        yield NotApplicable()
        return
    if view.text("CUDA_LAUNCH_BLOCKING") == "1":
        text = "makes every kernel launch wait for the kernel"
        yield _costs(view, "CUDA_LAUNCH_BLOCKING", text, None, "it is for finding the kernel that failed")
    yield from _logs(view)
    for variable, fact in view.known("int"):
        number = view.number(variable.name)
        if fact.get("slow_on") == 1 and number == 1:
            yield _costs(view, variable.name, "adds steps to every small message", None, fact.about)
        elif fact.get("danger_on") == 1 and number == 1:
            yield _costs(view, variable.name, "registers plain memory, which has hung", None, fact.about)
        elif fact.get("debug_on") == 1 and number == 1:
            yield _costs(view, variable.name, "checks every call on the host", None, fact.about)


def _logs(view: Settings) -> Iterator[Item]:
    level = view.text("NCCL_DEBUG").upper()
    if level in ("INFO", "TRACE"):
        text = "writes logs while it serves; leave it out of timed runs"
        yield _costs(view, "NCCL_DEBUG", text, Severity.INFO, "lines are written from the calls themselves")
    if view.text("NCCL_PROFILER_PLUGIN").lower() not in ("", "none"):
        text = "records every call; leave it out of timed runs"
        yield _costs(view, "NCCL_PROFILER_PLUGIN", text, Severity.INFO, "a profiler sits in every collective")
    for name in (
        "TORCH_NCCL_BLOCKING_WAIT",
        "TORCH_NCCL_ENABLE_TIMING",
        "TORCH_NCCL_NAN_CHECK",
        "TORCH_NCCL_DESYNC_DEBUG",
    ):
        if view.text(name) in ON:
            text = "slows torch's own collectives down; leave it out of timed runs"
            yield _costs(view, name, text, Severity.INFO, "captured decode graphs do not pass through it")


def _costs(view: Settings, name: str, text: str, severity: Severity | None, why: str) -> Finding:
    return view.finding(
        name,
        f"{view.spelled(name)} {text}",
        severity=severity,
        why=why,
        help=f"remove {name}",
        fix=without_variable(view, name),
    )


RULE = Rule(
    id="EC630",
    slug="nccl-slow-switch",
    severity=Severity.WARNING,
    today=Today.SLOWER,
    check=check,
    follows=(
        "EC604",
        "EC606",
    ),
    research=(
        "nccl/N012",
        "nccl/X011",
        "nccl/G005",
        "nccl/M012",
    ),
)
