"""A setting that is given twice: by two spellings of its key, or in two blocks."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, takewhile

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Fix, Item, Rule, Severity, Today
from eaglecfg.rules.schema.problems import finding_of
from eaglecfg.source.span import KeyPath, show_path

_WHY = "which of the two wins depends on the order of flags or on the program that reads them"


def check(context: Context) -> Iterator[Item]:
    """One place per setting, even where both say the same: the next edit would change only one of them."""
    assert context.deployment is not None
    # What defaults: gives twice belongs to no deployment; the first one reports it.
    first = context.config.deployments[:1] == (context.deployment,)
    for problem in context.config.problems:
        if problem.kind != "same-setting":
            continue
        if problem.deployment == context.deployment.name or (problem.deployment is None and first):
            yield finding_of(problem, _WHY)
    seen: dict[str, KeyPath] = {}
    for setting, path in _given(context):
        if setting not in seen:
            seen[setting] = path
            continue
        earlier = context.where(*seen[setting])
        now = context.where(*path)
        yield Finding(
            f"{_spelled(seen[setting], earlier)} and {_spelled(path, now)} are the same setting, given twice",
            path=now,
            at_key=True,
            why=_WHY,
            help="keep one of the two",
            fix=_fix(context, seen[setting], path),
            related=((earlier, "first given here"),),
        )


def _fix(context: Context, first: KeyPath, second: KeyPath) -> Fix | None:
    """Take the second one out where both say the same."""
    data = context.config.document.data
    values = []
    for path in (context.where(*first), context.where(*second)):
        place, value = context.config.document.places.get(path), data
        for part in path:
            value = value.get(part) if isinstance(value, dict) else None
        values.append((value, place.text if place is not None else None))
    if values[0] != values[1] or values[0][0] is None:
        return None
    at = context.where(*second)
    return Fix(f"remove {at[-1]}, which says the same once more", at, kind="remove")


def _spelled(path: KeyPath, document_path: KeyPath) -> str:
    """The key with its block, as the file spells it."""
    return show_path((*path[:-1], document_path[-1]))


def _given(context: Context) -> Iterator[tuple[str, KeyPath]]:
    """Every setting of the deployment under one name per setting, with its path inside the deployment."""
    model = context.model
    yield "model_path", ("target", "checkpoint")
    if model.target.revision is not None:
        yield "revision", ("target", "revision")
    if model.draft is not None:
        yield "speculative_draft_model_path", ("draft", "checkpoint")
        if model.draft.revision is not None:
            yield "speculative_draft_model_revision", ("draft", "revision")
    for name in sorted(model.parallel.model_fields_set):
        yield name, ("parallel", name)
    if model.speculative == "off":
        yield "speculative_algorithm", ("speculative",)
    elif model.speculative is not None:
        for name in sorted(model.speculative.model_fields_set):
            yield f"speculative_{name}", ("speculative", name)
    yield from _server_settings(context)
    for name in model.nccl:
        yield f"env NCCL_{name.upper()}", ("nccl", name)
    for name in model.env:
        yield f"env {name}", ("env", name)


def _server_settings(context: Context) -> Iterator[tuple[str, KeyPath]]:
    flags = context.engine.flags if context.engine is not None else {}
    # The table of all spellings is for names that are not whole; few files have any, and it costs to make.
    whole = all(name in flags for name in context.model.server)
    spellings = {} if whole else _spellings(context)
    ordered = sorted(spellings)
    for name in context.model.server:
        yield (name if whole else spellings.get(name) or _begun(name, spellings, ordered)), ("server", name)


def _spellings(context: Context) -> Mapping[str, str]:
    """Every spelling of a server flag -> its name, as this engine version has them."""
    out: dict[str, str] = {}
    for flag in context.engine.flags.values() if context.engine is not None else ():
        out[flag.name] = flag.name
        for alias in flag.aliases:
            out[alias.lstrip("-").replace("-", "_")] = flag.name
    return out


def _begun(name: str, spellings: Mapping[str, str], ordered: Sequence[str]) -> str:
    """The flag that ``name`` sets; the engine's parser takes any beginning that only one flag has."""
    first = bisect_left(ordered, name)
    alike = takewhile(lambda one: one.startswith(name), islice(ordered, first, None))
    begun = {spellings[one] for one in alike}
    return begun.pop() if len(begun) == 1 else name


RULE = Rule(
    id="EC104",
    slug="same-setting-twice",
    severity=Severity.ERROR,
    today=Today.IGNORED,
    check=check,
)
