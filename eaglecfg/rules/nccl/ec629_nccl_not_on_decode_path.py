"""Settings that decode's all-reduce never meets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Item, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings

if TYPE_CHECKING:
    from eaglecfg.nccl.decode_path import DecodePath
    from eaglecfg.nccl.facts import VariableFact
    from eaglecfg.rules.nccl.settings import Settings

TUNING = ("collective", "transport", "nvls", "symmetric", "graph", "topology")
"""What a variable must change to be meant for decode's all-reduce."""


def check(ctx: Context) -> Iterator[Item]:
    """A setting that cannot reach decode is worth a note: tuning it for speed is time lost."""
    view = settings(ctx)
    if view is None:
        yield NotApplicable()
        return
    tuned = [v.name for v, fact in view.read() if fact.acts in TUNING and v.text]
    asleep = False
    if tuned:
        from eaglecfg.rules.nccl.paths import open_because, path_of

        path = path_of(ctx)
        unsettled = open_because(view, path, start=True)
        if unsettled:
            yield NotChecked(unsettled)
        elif path is not None and not path.carried:
            asleep = True
            yield _elsewhere(ctx, view, tuned, path)
    for name in view.given:
        reason = "" if asleep and name in tuned else _reason(view, name)
        if reason:
            yield view.finding(
                name,
                f"{view.spelled(name)} does not change decode's all-reduce: {reason}",
                why="a trial that differs in nothing else measures noise",
                help="keep it where it serves something else, and leave it out of a search for decode",
            )


def _elsewhere(ctx: Context, view: Settings, names: list[str], path: DecodePath) -> Finding:
    from eaglecfg.nccl.paths import TITLES

    taken, listed = path.takers[0], ", ".join(view.spelled(name) for name in names)
    alone = taken.carrier == "none"
    clause = taken.why if alone else f"{TITLES[taken.carrier]} does, {taken.why}"
    return view.finding(
        names[0],
        f"{listed}: NCCL {'need' if path.nccl else 'does'} not carry decode's all-reduce here; {clause}",
        why="ranks that stand alone send nothing"
        if alone
        else "what is left to NCCL is the gathering of logits, the largest prefill messages and the start",
        help="leave it out" if alone else _advice(ctx),
        related=tuple((view.path(name), "nor this") for name in names[1:]),
        evidence=(Evidence("sglang", taken.source, TITLES[taken.carrier]),) if taken.source else (),
        values={"carrier": taken.carrier},
    )


def _advice(ctx: Context) -> str:
    from eaglecfg.rules.nccl.paths import waking

    flags = " and ".join(waking(ctx))
    return "tune speculation instead" + (f", or set {flags} where NCCL is meant to carry it" if flags else "")


def _reason(view: Settings, name: str) -> str:
    """Why the variable does not reach decode's all-reduce, empty where it may."""
    if name.startswith("TORCH_NCCL_"):
        return "it acts on torch's process groups, and captured graphs call NCCL past them"
    from eaglecfg.nccl.facts import variable_fact

    fact = variable_fact(name)
    if fact is None or fact.standing(view.version) not in ("there", "open"):
        return ""
    least, gpu = fact.get("least_cc"), view.gpu
    if least and gpu is not None and gpu.capability < least:
        return f"it needs compute capability {least}, and {view.gpu_name} has {gpu.capability}"
    return _by_kind(view, fact)


def _by_kind(view: Settings, fact: VariableFact) -> str:
    if fact.acts == "send":
        return "it is for send and receive only"
    if fact.acts == "process":
        return "it is for several GPUs in one process, and each rank here has its own"
    if fact.acts == "gather":
        return "it is for gathering and scattering"
    if fact.acts == "network" and view.nodes == 1:
        return "it is for traffic between nodes, and there is one"
    if fact.name == "NCCL_NTHREADS":
        allowed = None if view.handed("NCCL_ALGO") else view.allowed("NCCL_ALGO")
        if allowed is not None and allowed.of("AllReduce") == frozenset(("Tree",)):
            return "Tree always runs 640 threads; only the number of channels moves"
    return str(fact.get("no_decode", ""))


RULE = Rule(
    id="EC629",
    slug="nccl-not-on-decode-path",
    severity=Severity.INFO,
    today=Today.NOTHING,
    check=check,
    follows=(
        "EC646",
        "EC604",
        "EC606",
        "EC607",
        "EC608",
        "EC610",
        "EC611",
        "EC613",
        "EC615",
        "EC620",
        "EC621",
        "EC622",
    ),
    research=(
        "nccl/S004",
        "nccl/S005",
        "nccl/B004",
        "nccl/C005",
        "nccl/C006",
        "nccl/T004",
        "nccl/X010",
        "nccl/W010",
    ),
)
