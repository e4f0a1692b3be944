"""A document to typed deployments: defaults merged in, refused keys as problems, the rest kept."""

from __future__ import annotations

from collections import Counter
from typing import Any

from eaglecfg.record import replace
from eaglecfg.schema.accept import accept, take_out
from eaglecfg.schema.deployment import ConfigFile, Deployment, Engine
from eaglecfg.schema.fields import fields_of, null_means_absent, takes_text
from eaglecfg.schema.gather import OPEN_VALUES, Gathered, doubtful, gather, overlay
from eaglecfg.schema.loaded import LoadedConfig, LoadedDeployment, SchemaProblem, document_path
from eaglecfg.schema.suppression import Suppression
from eaglecfg.schema.wording import problem_of, shown_value
from eaglecfg.source.document import Document
from eaglecfg.source.limits import MAX_PROBLEMS
from eaglecfg.source.span import KeyPath, show_path

_OPEN_BLOCKS = ("server", "nccl", "env")
MOST_KEYS = 1_000
"""Keys of a block that takes any. The engine has some 530 flags, NCCL some 200 variables."""

MOST_DEPLOYMENTS = 300
"""Deployments of one file. Each takes some 10 ms to check."""

MOST_MERGED = 100_000
"""Values that defaults may add to all deployments together."""


def load_config(document: Document) -> LoadedConfig:
    """The typed content of an eaglecfg.yaml. What the schema refuses is in ``problems``; nothing raises."""
    data = document.data
    if not isinstance(data, dict):
        return LoadedConfig(document, None, (), _not_a_mapping(document))
    problems: list[SchemaProblem] = []
    engine = _engine(document, problems)
    suppress = _head(document, problems)
    defaults = _defaults(document, problems)
    deployments: list[LoadedDeployment] = []
    given = data.get("deployments")
    # Keys that are no text were left out of the data, and a rule about the text names them.
    emptied = given == {} and any(problem.path[:1] == ("deployments",) for problem in document.problems)
    if "deployments" in data and (not isinstance(given, dict) or not given) and not emptied:
        got = "an empty mapping" if given == {} else shown_value(given, document.places[("deployments",)])
        message = f"deployments takes a mapping from names to deployments, not {got}"
        help = "write deployments: {chat: {target: {checkpoint: ...}}}"
        problems.append(SchemaProblem("wrong-type", ("deployments",), message, help))
    names = list(given) if isinstance(given, dict) else []
    most = (
        MOST_DEPLOYMENTS
        if defaults is None
        else min(MOST_DEPLOYMENTS, MOST_MERGED // len(defaults.origin) + 1)
    )
    if len(names) > most:
        message = f"deployments holds {len(names):,} deployments, of which {most} are looked at"
        help = "split the file, or put less under defaults:, which is merged into each of them"
        problems.append(SchemaProblem("wrong-type", ("deployments",), message, help))
    for name in names[:most]:
        loaded = _deployment(document, name, defaults, problems)
        if loaded is not None:
            deployments.append(loaded)
    return LoadedConfig(document, engine, tuple(deployments), distinct(document, problems), suppress)


def load_deployment(
    document: Document, name: str, merged: Gathered
) -> tuple[LoadedDeployment | None, list[SchemaProblem]]:
    """One deployment from data that is already merged, and what the schema refuses in it.

    A null that is left by now took the place of what ``defaults`` gives, and means no such key.
    """
    problems = [_given_twice(pair, name) for pair in merged.twice]
    data = merged.data
    nulls = without_nulls(data) if isinstance(data, dict) else frozenset()
    unknown = doubtful(document, merged, lambda path: takes_text(Deployment, path))

    def locate(path: KeyPath) -> KeyPath:
        return document_path(name, merged.origin, path)

    for block in _OPEN_BLOCKS:
        held = data.get(block) if isinstance(data, dict) else None
        if isinstance(held, dict) and len(held) > MOST_KEYS:
            message = f"{block} takes up to {MOST_KEYS:,} keys, not {len(held):,}"
            at = locate((block,))
            problems.append(SchemaProblem("wrong-type", at, message, "keep those that are meant"))
            unknown.add((block,))
    accepted = accept(Deployment, data, take_out(data, unknown))
    for refusal in accepted.refusals:
        problem = problem_of(Deployment, refusal, document, locate)
        message = problem.message
        if message.startswith("the file"):
            message = f"deployment {name}{message.removeprefix('the file')}"
        inside = problem.path[:1] == ("deployments",)
        problems.append(replace(problem, message=message, deployment=name if inside else None))
    if accepted.model is None:
        return None, problems
    refused = frozenset(accepted.removed)
    return LoadedDeployment(name, accepted.model, merged.origin, refused, nulls), problems


def may_be_null(path: KeyPath) -> bool:
    """Whether null at ``path`` inside a deployment says that nothing is there: of a key, or a whole block."""
    block, *below = map(str, path)
    if not below:
        return null_means_absent(Deployment, block)
    if len(below) > 1:
        return False
    if block in _OPEN_BLOCKS:
        return True
    field = fields_of(Deployment).get(block)
    return field is not None and field.model is not None and null_means_absent(field.model, below[0])


def without_nulls(data: dict[str, Any]) -> frozenset[KeyPath]:
    """Take the nulls out of the data of a deployment that mean no such key; their paths.

    What stands below a flag is a value of the engine's, whose nulls stay. So does the null of a key that has
    to be there, or that nothing knows: the schema refuses it.
    """
    gone: set[KeyPath] = set()
    for key, value in list(data.items()):
        if value is None and null_means_absent(Deployment, key):
            del data[key]
            gone.add((key,))
        elif isinstance(value, dict):
            for name in [name for name, inner in value.items() if inner is None and may_be_null((key, name))]:
                gone.add((key, name))
                if key != "server":
                    del value[name]
    return frozenset(gone)


def is_text(path: KeyPath) -> bool:
    """Whether a scalar at the document path ``path`` of a config means its spelling."""
    if path[:1] == ("defaults",):
        return takes_text(Deployment, path[1:])
    return takes_text(ConfigFile, path)


def canonical_key(path: KeyPath, key: str) -> str:
    """The one spelling of a key: server flags without dashes, NCCL variables in lower case without prefix."""
    if path == ("server",):
        return key.lstrip("-").replace("-", "_")
    if path == ("nccl",):
        return key.lower().replace("-", "_").removeprefix("nccl_")
    return key


def distinct(document: Document, problems: list[SchemaProblem]) -> tuple[SchemaProblem, ...]:
    """``problems`` without repeats (one slip under defaults: shows in every deployment) and without those
    that the text itself explains already; of a kind at most as many as anyone reads."""
    explained = {problem.path for problem in document.problems if problem.kind in OPEN_VALUES}
    seen: set[tuple[Any, ...]] = set()
    kept: dict[str, list[SchemaProblem]] = {}
    left_out: Counter[str] = Counter()
    for problem in problems:
        place = document.place(problem.path)
        key = (problem.kind, place.value if not problem.at_key else place.key, problem.path[-1:])
        if key not in seen and not (problem.kind == "wrong-type" and problem.path in explained):
            seen.add(key)
            if len(kept.setdefault(problem.kind, [])) < MAX_PROBLEMS:
                kept[problem.kind].append(problem)
            else:
                left_out[problem.kind] += 1
    for kind, count in left_out.items():
        kept[kind][-1] = replace(kept[kind][-1], more=count)
    return tuple(problem for alike in kept.values() for problem in alike)


def _not_a_mapping(document: Document) -> tuple[SchemaProblem, ...]:
    if document.data is None and document.problems:
        return ()
    got = shown_value(document.data, document.places.get(()))
    message = f"the file takes a mapping with the keys version, engine and deployments, not {got}"
    return (SchemaProblem("wrong-type", (), message, "write key: value lines"),)


def _engine(document: Document, problems: list[SchemaProblem]) -> Engine | None:
    if "engine" not in document.data:
        return None
    given = gather(document, ("engine",), lambda path: takes_text(Engine, path))
    accepted = accept(Engine, given.data)
    for refusal in accepted.refusals:
        problem = problem_of(Engine, refusal, document, lambda path: ("engine", *path))
        message = problem.message.replace("the file ", "engine ", 1)
        if not message.startswith("engine "):
            message = f"engine.{message}"
        help = problem.help if refusal.path else "write engine: {name: sglang, version: ...}"
        problems.append(replace(problem, message=message, help=help))
    return accepted.model


def _head(document: Document, problems: list[SchemaProblem]) -> tuple[Suppression, ...]:
    """Check the keys at the top of the file; what stands below most of them is checked part by part."""
    data = dict(document.data)
    for name, stand_in in (("engine", {"version": "0"}), ("deployments", {}), ("defaults", {})):
        if name in data:
            data[name] = stand_in
    if data.get("suppress", ()) is None:
        del data["suppress"]
    if "suppress" in data:
        data["suppress"] = gather(document, ("suppress",), lambda path: is_text(("suppress", *path))).data
    accepted = accept(ConfigFile, data)
    for refusal in accepted.refusals:
        problems.append(_head_problem(refusal.path, problem_of(ConfigFile, refusal, document, lambda p: p)))
    return tuple(accepted.model.suppress) if accepted.model is not None else ()


def _head_problem(path: KeyPath, problem: SchemaProblem) -> SchemaProblem:
    # What belongs into a deployment is often written at the top of the file.
    if problem.kind == "unknown-key" and path[-1] in fields_of(Deployment):
        help = f"{path[-1]} belongs into a deployment, or under defaults: for all of them"
        return SchemaProblem(problem.kind, problem.path, problem.message, help, True)
    return problem


def _defaults(document: Document, problems: list[SchemaProblem]) -> Gathered | None:
    given = document.data.get("defaults")
    if given is None:
        return None
    if not isinstance(given, dict):
        message = f"defaults takes a mapping, not {shown_value(given, document.places[('defaults',)])}"
        help = "write under it what the deployments share"
        problems.append(SchemaProblem("wrong-type", ("defaults",), message, help))
        return None
    return _gather_deployment(document, ("defaults",))


def _deployment(
    document: Document, name: str, defaults: Gathered | None, problems: list[SchemaProblem]
) -> LoadedDeployment | None:
    own = _gather_deployment(document, ("deployments", name))
    if not isinstance(own.data, dict):
        got = shown_value(own.data, document.places[("deployments", name)])
        message = f"deployment {name} takes a mapping, not {got}"
        help = "write target: and the rest below it, indented"
        problems.append(SchemaProblem("wrong-type", ("deployments", name), message, help, deployment=name))
        return None
    loaded, found = load_deployment(document, name, own if defaults is None else overlay(defaults, own))
    problems.extend(found)
    return loaded


def _gather_deployment(document: Document, at: KeyPath) -> Gathered:
    return gather(document, at, lambda path: takes_text(Deployment, path), canonical_key)


def _given_twice(pair: tuple[KeyPath, KeyPath], deployment: str) -> SchemaProblem:
    first, second = pair
    message = f"{show_path(first[-2:])} and {show_path(second[-2:])} are the same setting, given twice"
    inside = second[:1] == ("deployments",)
    return SchemaProblem(
        "same-setting", second, message, "keep one of the two", True, deployment if inside else None, first
    )
