"""A variable that leaves out the module of a class that the deployment needs."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.facts import CheckpointFacts
from eaglecfg.engines.table import rows_of
from eaglecfg.rules.architecture.drafts import from_package, model_package, runs_eagle3
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import (
    Evidence,
    Finding,
    Item,
    Need,
    NotApplicable,
    NotChecked,
    Rule,
    Severity,
    Today,
)


def check(context: Context) -> Iterator[Item]:
    """The classes of target and draft must be among those that the engine registers."""
    assert context.engine is not None
    name = context.engine.values.get("modules_left_out")
    text = context.variable(name) if name is not None else None
    if name is None or not text or not runs_eagle3(context):
        yield NotApplicable()
        return
    left_out = {word.strip() for word in text.split(",")}
    modules = rows_of(context.engine.name, context.engine.facts_of, "modules.json")["modules"]
    for role, part in (("target", context.target), ("draft", context.draft)):
        row = modules.get((part.config.architecture or "") if part is not None and part.config else "")
        if part is not None and row is not None and row["module"] in left_out:
            package = model_package(context)
            own = part.config.architecture if part.config is not None else None
            if package:
                yield NotChecked(from_package(context, package, str(own)))
            else:
                yield _finding(context, name, role, part, row["module"], row["source"], row["read_in"])


def _finding(
    context: Context, name: str, role: str, part: CheckpointFacts, module: str, source: str, read_in: str
) -> Finding:
    assert context.engine is not None
    assert part.config is not None
    return Finding(
        f"{name} leaves {module} out, the module that registers {part.config.architecture}, the class of the "
        f"{role}",
        path=context.where("env", name),
        related=((context.where(role, "checkpoint"), f"the {role}"),),
        why=f"{engine_label(context)} looks for the class among those of Transformers then, which have no "
        "code for EAGLE-3",
        help=f"take {module} out of {name}",
        evidence=(
            config_line(part.config, "architectures", "the class"),
            Evidence(f"{context.engine.name} {read_in}", source, "EntryClass"),
        ),
        values={"module": module, "architecture": part.config.architecture},
    )


RULE = Rule(
    id="EC514",
    slug="module-left-out",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    needs=(Need.ENGINE,),
)
