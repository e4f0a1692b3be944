"""The target's class must be able to capture hidden states in this engine version."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.reading import IMPLEMENTATION, wrapping_class
from eaglecfg.rules.architecture.drafts import from_package, model_package, runs_eagle3
from eaglecfg.rules.capture.ids import target_config
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotChecked, Rule, Severity, Today
from eaglecfg.rules.remedies import leave_out
from eaglecfg.rules.versions import later_versions

_TODAY = {"crash_at_first_request": Today.CRASH_AT_FIRST_REQUEST, "nothing": Today.SILENT}


def check(context: Context) -> Iterator[Item]:
    """Find the class among those that capture."""
    assert context.engine is not None
    assert context.target is not None
    assert context.target.config is not None
    name = context.target.config.architecture
    if not runs_eagle3(context) or name is None:
        return
    package = model_package(context)
    if package:
        yield NotChecked(from_package(context, package, name))
        return
    wrapping = wrapping_class(context.engine, context.resolution)
    if wrapping is not None:
        yield from _wrapped(context, wrapping, name)
        return
    fact = context.engine.captures.get(name)
    if fact is not None and fact.usable:
        return
    if fact is None and context.engine.standing in ("newer", "development"):
        yield NotChecked(f"{engine_label(context)} is newer than the facts, and {name} is not among them")
        return
    registered = name in context.engine.architectures or fact is not None
    label, since = engine_label(context), _first_usable(context, name)
    reason = f": {fact.reason}" if fact is not None and fact.reason else ""
    cannot = (
        f"the target's class {name} cannot capture hidden states for EAGLE-3 in {label}{reason}"
        if registered
        else f"{label} cannot run {name}, the class that {context.target.config.file} names"
    )
    yield Finding(
        cannot + (f"; {context.engine.name} {since} is the first version that can" if since else ""),
        path=context.where("target", "checkpoint"),
        related=((("engine", "version"), "the version that runs"),),
        today=_TODAY.get(fact.outcome) if fact is not None else None,
        why="EAGLE-3 reads states from inside the target, and each target class needs code that hands "
        "them out"
        + (
            ""
            if registered
            else "; the wrapper of Transformers' own models, which runs classes "
            "that the engine does not have, has none"
        ),
        help=f"run {context.engine.name} {since} or later, or set speculative: off"
        if since
        else f"no version of {context.engine.name} known to eaglecfg can: set speculative: off, or use "
        "another algorithm that this target supports",
        evidence=(
            config_line(context.target.config, "architectures", "cannot capture"),
            *(
                (Evidence(f"{context.engine.name} {fact.read_in}", fact.source, fact.reason),)
                if fact is not None
                else ()
            ),
        ),
        values={"target_architecture": name, "first_version": since},
    )


def _wrapped(context: Context, wrapping: str, own: str) -> Iterator[Item]:
    """The target runs in a class that wraps another library's model, as the deployment asks."""
    assert context.engine is not None
    fact, label = context.engine.captures.get(wrapping), engine_label(context)
    asked = context.argument(IMPLEMENTATION)
    place, _, read_in = context.engine.sources["model_impls"].partition(" (")
    if fact is not None:
        yield NotChecked(f"{IMPLEMENTATION}: {asked} runs the target in code that is not part of {label}")
        return
    native = context.engine.captures.get(own)
    better = (
        f", which lets {own} of {context.engine.name} run" if native is not None and native.usable else ""
    )
    yield Finding(
        f"{IMPLEMENTATION}: {asked} runs the target in a {wrapping.removesuffix('ForCausalLM')} class of "
        f"{label}, which cannot capture hidden states for EAGLE-3",
        path=context.argument_path(IMPLEMENTATION),
        related=((context.where("target", "checkpoint"), f"its own class is {own}"),),
        why="EAGLE-3 reads states from inside the target, and the classes that wrap another library's models "
        "have no code that hands them out (AttributeError)",
        help=f"leave out {IMPLEMENTATION}{better}, or set speculative: off"
        if better
        else f"set speculative: off: {own} captures nothing in this version either",
        fix=leave_out(context, IMPLEMENTATION) if better else None,
        evidence=(
            config_line(target_config(context), "architectures", "does not run"),
            Evidence(f"{context.engine.name} {read_in.rstrip(')').split()[-1]}", place, "picks the class"),
        ),
        values={"target_architecture": own, "running_class": wrapping},
    )


def _first_usable(context: Context, name: str) -> str | None:
    """The first version after this one in which the class captures."""
    assert context.engine is not None
    for facts in later_versions(context.engine):
        fact = facts.captures.get(name)
        if fact is not None and fact.usable:
            return facts.version
    return None


RULE = Rule(
    id="EC508",
    slug="target-cannot-capture",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG),
    follows=("EC503", "EC506"),
    research=("ALG-09", "ALG-10", "ALG-11", "ALG-12"),
)
