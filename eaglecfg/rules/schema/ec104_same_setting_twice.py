"""A setting that is given twice: by two spellings of its key, or in two blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eaglecfg.engines.blocks import BLOCKS, canonical
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Fix, Item, Rule, Severity, Today
from eaglecfg.rules.schema.problems import finding_of
from eaglecfg.schema.load import canonical_key
from eaglecfg.source.span import KeyPath, show_path

_WHY = "which of the two wins depends on the order of flags or on the program that reads them"


def check(context: Context) -> Iterator[Item]:
    """One place per setting, even where both say the same: the next edit would change only one of them."""
    assert context.deployment is not None
    place = context.deployment.document_path
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
        earlier, now = place(seen[setting]), place(path)
        yield Finding(
            f"{_spelled(seen[setting], earlier)} and {_spelled(path, now)} are the same setting, given twice",
            path=now,
            at_key=True,
            why=_WHY,
            help="keep one of the two",
            fix=_fix(context, seen[setting], path),
            related=((earlier, "first given here"),),
        )
    yield from _kept(context, seen)


def _kept(context: Context, given: Mapping[str, KeyPath]) -> Iterator[Finding]:
    """Nulls that drop nothing: ``defaults`` gives the setting by another of its names."""
    assert context.deployment is not None
    for path in sorted(context.deployment.nulls):
        setting = _setting(context, path)
        if len(path) != 2:
            continue
        if setting not in given:
            yield from _slip(context, path)
            continue
        other, now = (context.deployment.document_path(each) for each in (given[setting], path))
        if other[:1] == ("defaults",):
            kept = show_path((*given[setting][:-1], other[-1]))
            yield Finding(
                f"{_spelled(path, now)} is null, but {kept} under defaults gives the same setting: it stays",
                path=now,
                at_key=True,
                why="null takes the place of a key that is spelled the same, in the same block",
                help=f"write {kept}: null instead",
                related=((other, "given here"),),
            )


def _slip(context: Context, path: KeyPath) -> Iterator[Finding]:
    """A null whose name is nearly that of something which ``defaults`` gives, and goes on giving."""
    assert context.deployment is not None
    block, name, origin = path[0], str(path[1]), context.deployment.origin
    inherited = [
        str(each[1])
        for each, at in origin.items()
        if len(each) == 2 and each[0] == block and at[:1] == ("defaults",)
    ]
    above = context.config.document.data.get("defaults")
    if not inherited or _gives(above, path):
        return
    from eaglecfg.schema.wording import nearest  # with difflib, on the way to a finding

    meant = nearest(name, inherited, 0.8)
    if meant is not None:
        now, other = context.deployment.document_path(path), origin[(block, meant)]
        kept = show_path((block, other[-1]))
        yield Finding(
            f"{_spelled(path, now)} is null, but defaults gives {kept} and nothing of that name: it stays",
            path=now,
            at_key=True,
            severity=Severity.WARNING,
            why="null takes the place of a key that is spelled the same, in the same block",
            help=f"write {kept}: null if that is not wanted here, or take the null out",
            related=((other, "given here"),),
            fix=Fix(f"write {other[-1]} for {now[-1]}", now, str(other[-1]), safe=False, kind="rename"),
        )


def _gives(defaults: Any, path: KeyPath) -> bool:
    """Whether ``defaults`` has a key that the null at ``path`` takes the place of."""
    block = defaults.get(path[0]) if isinstance(defaults, dict) else None
    return isinstance(block, dict) and any(canonical_key(path[:1], str(key)) == path[1] for key in block)


def _setting(context: Context, path: KeyPath) -> str:
    """The one name of the setting at a path inside the deployment, as ``_given`` has it."""
    block, name = str(path[0]), str(path[-1])
    if block == "nccl":
        return f"env NCCL_{name.upper()}"
    if block == "env":
        return f"env {name}"
    flags = {home: flag for flag, home in BLOCKS.items()}
    return canonical(name, context.engine) if block == "server" else flags.get((block, name), "")


def _fix(context: Context, first: KeyPath, second: KeyPath) -> Fix | None:
    """Take the second one out where both say the same."""
    data = context.config.document.data
    values = []
    assert context.deployment is not None
    where = context.deployment.document_path
    at = where(second)
    for path in (where(first), at):
        place, value = context.config.document.places.get(path), data
        for part in path:
            value = value.get(part) if isinstance(value, dict) else None
        values.append((value, place.text if place is not None else None))
    if values[0] != values[1] or values[0][0] is None:
        return None
    return Fix(f"remove {at[-1]}, which says the same once more", at, safe=True, kind="remove")


def _spelled(path: KeyPath, document_path: KeyPath) -> str:
    """The key with its block, as the file spells it."""
    return show_path((*path[:-1], document_path[-1]))


def _given(context: Context) -> Iterator[tuple[str, KeyPath]]:
    """Every setting of the deployment under one name per setting, with its path inside the deployment."""
    assert context.deployment is not None
    model = context.deployment.model  # as the file has it: what stands in two places is one in ``model``
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
    for name in [name for name, value in model.server.items() if value is not None]:
        yield canonical(name, context.engine), ("server", name)
    for name in model.nccl:
        yield f"env NCCL_{name.upper()}", ("nccl", name)
    renamed = {old: new for new, old in context.copied.items()}
    for name, text in model.env.items():
        # Both names with one value are for whoever runs several versions.
        new = renamed.get(name, name)
        yield f"env {name if model.env.get(new, text) == text else new}", ("env", name)


RULE = Rule(
    id="EC104",
    slug="same-setting-twice",
    severity=Severity.ERROR,
    today=Today.IGNORED,
    check=check,
)
