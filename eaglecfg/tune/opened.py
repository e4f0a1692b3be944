"""A study file made ready: its deployment, its space, its prompts, and the folder that keeps its record."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os.path
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from eaglecfg.engines.blocks import loaded_in_blocks
from eaglecfg.engines.facts import EngineFacts
from eaglecfg.engines.table import facts_of
from eaglecfg.errors import UsageError
from eaglecfg.record import replace
from eaglecfg.rules.context import Checkpoints, deployment_context
from eaglecfg.rules.model import Severity
from eaglecfg.rules.nccl.searched import decided_by
from eaglecfg.rules.study.surroundings import searched_names, surrounded
from eaglecfg.schema.deployment import Deployment
from eaglecfg.schema.load import load_config
from eaglecfg.schema.load_study import load_study
from eaglecfg.schema.loaded import LoadedConfig, LoadedDeployment, SchemaProblem
from eaglecfg.schema.study import StudyFile
from eaglecfg.source.document import Document
from eaglecfg.source.read import read_document
from eaglecfg.tune.arm import Arm
from eaglecfg.tune.boots import boots_of
from eaglecfg.tune.design import Design, Verdict, make_design
from eaglecfg.tune.history import History, fold
from eaglecfg.tune.inert import Asleep, Inert, find_inert
from eaglecfg.tune.ledger import Event
from eaglecfg.tune.limits import read_limits
from eaglecfg.tune.profiles import assumed_launch_s, measure_plan
from eaglecfg.tune.prompts import read_prompts
from eaglecfg.tune.random_prompts import random_prompts
from eaglecfg.tune.space import Space, read_space
from eaglecfg.tune.step_cost import require_switch
from eaglecfg.tune.surroundings import Place
from eaglecfg.tune.trial import MeasurePlan, Prompt

STUDIES = Path(".eaglecfg") / "studies"
"""Where studies are kept, under the folder of the config."""

MEASUREMENT = "measurement"
"""The key of ``described`` that holds how a launch is measured."""


@dataclass(frozen=True, slots=True)
class Opened:
    """Everything that a run of a study needs and that does not change while it runs.

    ``inert`` maps keys of the space that cannot matter to why. ``conditions`` is the hash of all that a
    measurement depends on besides the arm; ``described`` is what went into it. ``environ`` is what servers
    inherit. ``simulation`` is the engine's switch for simulated acceptance where the study measures step cost
    alone.
    """

    name: str
    document: Document
    study: StudyFile
    config: LoadedConfig
    deployment: LoadedDeployment
    facts: EngineFacts | None
    space: Space
    design: Design
    inert: Mapping[str, str]
    plan: MeasurePlan
    search_prompts: tuple[Prompt, ...]
    claim_prompts: tuple[Prompt, ...]
    prefix: tuple[str, ...]
    folder: Path
    conditions: str
    described: Mapping[str, Any]
    environ: Mapping[str, str]
    simulation: Mapping[str, Any] | None = None

    @property
    def assumed_launch_s(self) -> float:
        """Seconds of one launch until launches have been seen."""
        return assumed_launch_s(self.prefix, self.plan, self.study.launch.start_s)

    def history(self, events: Sequence[Event], place: Place | None = None) -> History:
        """What ``events`` of the study's ledger come to under its conditions. ``place`` as for ``fold``."""
        known = fold(events, self.conditions, place)
        return dataclasses.replace(known, boots=boots_of(events, self.described))

    @property
    def base_folder(self) -> Path:
        """The folder that checkpoints are relative to."""
        return Path(self.config.document.folder)


def open_study(
    path: Path,
    *,
    shown: str,
    out: Path | None = None,
    launch_anyway: bool = False,
    keep_inert: bool = False,
    prefix: Sequence[str] = (),
    budget: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    looking: bool = False,
) -> Opened:
    """Read the study at ``path`` and everything that it names.

    ``prefix`` overrides the study's launch prefix, ``budget`` (launches, hours, until) keys of its budget.
    ``environ`` is the environment that servers are to inherit. ``looking``: nothing will be launched, so that
    random prompts are not made, for which the target's files would be needed.
    Raises ConfigUnreadable for files that cannot be read and UsageError for a study that cannot be run as it
    is.
    """
    document = read_document(path, shown=shown)
    study = _study(document, budget or {})
    config, deployment = _deployment(document, study)
    facts = facts_of(config.engine)
    simulation = require_switch(config.engine, facts) if study.step_cost is not None else None
    deployment = loaded_in_blocks(deployment, facts)
    space = read_space(document, study.space, deployment.model)
    inert = Inert() if keep_inert else find_inert(space, _asleep(config, deployment, study))
    space = space.without(tuple(inert.left_out)).under(inert.conditions)
    design = make_design(study, space, _no_verdict if launch_anyway else _validator(config, deployment))
    unasked = looking and study.workload.random is not None
    every = () if unasked else _all_prompts(document, study, config, deployment.model)
    search, claim = _split(every, study.workload.holdout if design.mode != "rounds" else 0)
    plan = measure_plan(study, used := tuple(prefix) or tuple(study.launch.prefix))
    described = json.loads(
        json.dumps(_describe(document, study, config, space, plan, used, split=design.mode != "rounds"))
    )
    home = Path(config.document.folder).resolve() / STUDIES
    folder = out.resolve() if out is not None else home / Path(shown).stem
    return Opened(
        Path(shown).stem,
        document,
        study,
        config,
        deployment,
        facts,
        space,
        design,
        inert.left_out,
        plan,
        search,
        claim,
        tuple(word.replace("{python}", sys.executable) for word in used),
        folder,
        hash_of(described),
        described,
        dict(environ or {}),
        simulation,
    )


def _study(document: Document, budget: Mapping[str, Any]) -> StudyFile:
    """What a study file says, under the keys of another ``budget``."""
    loaded = load_study(document)
    _refuse_problems(document, loaded.problems)
    if loaded.model is None:
        name = document.name
        raise UsageError(f"{name} is not a study file; eaglecfg validate {name} says what it lacks.")
    study = loaded.model
    read_limits(study.objective.limits, document)
    return study.model_copy(update={"budget": study.budget.model_copy(update=budget)}) if budget else study


def changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What of the conditions is not what it was, by name: parts of the measurement each by its own."""
    keys = [key for key in {**before, **now} if before.get(key) != now.get(key)]
    if MEASUREMENT not in keys:
        return keys
    own, new = before.get(MEASUREMENT) or {}, now.get(MEASUREMENT) or {}
    parts = [key for key in {**own, **new} if own.get(key) != new.get(key)]
    return [key for key in keys if key != MEASUREMENT] + parts


def hash_of(described: Mapping[str, Any]) -> str:
    """Twelve hex digits that stand for plain data."""
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:12]


def _refuse_problems(document: Document, problems: Sequence[SchemaProblem]) -> None:
    """A file that says something eaglecfg cannot read is not launched: what it asks for is not known."""
    if document.problems:
        first, start = document.problems[0].message, document.problems[0].span.start
        count = len(document.problems) + len(problems)
    elif problems:
        place = document.place(problems[0].path)
        start = (place.key if problems[0].at_key and place.key else place.value).start
        first, count = problems[0].message, len(problems)
    else:
        return
    more = f" (and {count - 1} more: eaglecfg validate {document.name})" if count > 1 else ""
    raise UsageError(f"{document.name}:{start.line}:{start.column}: {first}{more}")


def _deployment(document: Document, study: StudyFile) -> tuple[LoadedConfig, LoadedDeployment]:
    path = Path(document.folder) / study.config
    config = load_config(read_document(path, shown=_shown_beside(document, study.config)))
    found = [item for item in config.deployments if item.name == study.deployment]
    if not found:
        known = ", ".join(item.name for item in config.deployments) or "none"
        place = document.place(("deployment",)).value.start
        raise UsageError(
            f"{document.name}:{place.line}:{place.column}: deployment {study.deployment} is not in "
            f"{config.document.name}, which has {known}."
        )
    own = [item for item in config.problems if item.deployment in (None, study.deployment)]
    _refuse_problems(config.document, own)
    return config, found[0]


def _shown_beside(document: Document, name: str) -> str:
    """A file named in a study, as a user standing where the study was named would spell it."""
    return os.path.normpath(Path(document.name).parent / name)


def _split(prompts: tuple[Prompt, ...], holdout: float) -> tuple[tuple[Prompt, ...], tuple[Prompt, ...]]:
    """Prompts of the search and of the claim. Without a search all prompts serve the claim."""
    kept = round(holdout * len(prompts))
    if not 0 < kept < len(prompts):
        return prompts, prompts
    every = len(prompts) / kept
    claim = {int(index * every) for index in range(kept)}
    return (
        tuple(prompt for index, prompt in enumerate(prompts) if index not in claim),
        tuple(prompt for index, prompt in enumerate(prompts) if index in claim),
    )


def _all_prompts(
    document: Document, study: StudyFile, config: LoadedConfig, base: Deployment
) -> tuple[Prompt, ...]:
    work, target = study.workload, base.target.checkpoint
    folder = Path(config.document.folder)
    if work.prompts is not None and work.random is None:
        path = Path(os.path.normpath(Path(document.folder) / work.prompts))
        tokenizer = folder / Path(target).expanduser()
        return read_prompts(path, tokenizer=tokenizer if tokenizer.is_dir() else target)
    if work.random is not None and work.prompts is None:
        return random_prompts(work.random, folder, target)
    start = document.place(("workload",)).value.start
    raise UsageError(
        f"{document.name}:{start.line}:{start.column}: workload: expected prompts or random, got "
        f"{'both' if work.random is not None else 'neither'}."
    )


def _describe(
    document: Document,
    study: StudyFile,
    config: LoadedConfig,
    space: Space,
    plan: MeasurePlan,
    prefix: Sequence[str],
    *,
    split: bool,
) -> dict[str, Any]:
    """All that a measurement depends on besides the arm, by the key that a user would have edited."""
    name, random = study.workload.prompts, study.workload.random
    prompts = (Path(document.folder) / name).read_bytes() if name is not None else b""
    cost = study.step_cost
    hides = not searched_names(study.space, space.base).isdisjoint(study.launch.env)
    return {
        "engine": config.engine.model_dump() if config.engine is not None else None,
        "launch.prefix": list(prefix),
        "launch.env": dict(sorted(study.launch.env.items())),
        # Launches under the earlier order, in which launch.env hid what was searched, are not comparable.
        **({"settings over launch.env": True} if hides else {}),
        "launch.flags": list(study.launch.flags),
        "workload.prompts": hashlib.sha256(prompts).hexdigest(),
        **({} if random is None else {"workload.random": random.model_dump()}),
        "workload.holdout": study.workload.holdout if split else 0,
        "measurement": asdict(plan),
        **({} if cost is None else {"step_cost": {"accept_length": cost.accept_length}}),
    }


def _no_verdict(arm: Arm) -> tuple[str, ...]:
    return ()


def _validator(config: LoadedConfig, deployment: LoadedDeployment) -> Verdict:
    """Error findings of an arm, asked once per arm."""
    known: dict[str, tuple[str, ...]] = {}

    def verdict(arm: Arm) -> tuple[str, ...]:
        from eaglecfg.rules.runner import check_deployment

        if arm.key not in known:
            report = check_deployment(config, replace(deployment, model=arm.deployment))
            known[arm.key] = tuple(
                f"{found.rule.id} {found.rule.slug}: {found.finding.message}"
                for found in report.findings
                if found.severity is Severity.ERROR
            )
        return known[arm.key]

    return verdict


def _asleep(config: LoadedConfig, deployment: LoadedDeployment, study: StudyFile) -> Asleep:
    """Whether NCCL's settings can act on decode or verify of an arm. Where the study hands the server a flag
    behind the deployment's back that may wake it, it is never called asleep."""
    checkpoints = Checkpoints()
    woken = decided_by((*study.launch.prefix, *study.launch.flags), facts_of(config.engine))

    def asleep(model: Deployment) -> str:
        if woken:
            return ""
        from eaglecfg.rules.nccl.paths import asleep_because

        whole = surrounded(model, study.launch.env)
        return asleep_because(deployment_context(config, replace(deployment, model=whole), checkpoints))

    return asleep
