"""Keys of a study's space must be keys that change what is launched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eaglecfg.engines.table import load_facts
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Fix, Item, NotChecked, Rule, Severity, Today
from eaglecfg.rules.study.parts import (
    SECTIONS,
    WHOLE_BLOCKS,
    entries,
    is_range,
    setting_of,
    split_key,
    study_model,
)
from eaglecfg.schema.deployment import Deployment
from eaglecfg.schema.fields import fields_of
from eaglecfg.schema.wording import nearest
from eaglecfg.source.span import KeyPath, show_path

GIVEN = {"server.host": "127.0.0.1", "server.port": "a free port"}
"""Flags that every trial gives its server last of all (``eaglecfg.tune.launch``)."""

_WHY = "a setting that nothing reads would take up launches and change nothing"


def check(context: Context) -> Iterator[Item]:
    """Look every key up, and find keys that mean the same one."""
    study = study_model(context)
    if study is None:
        yield NotChecked("the study file lacks keys that it needs")
        return
    flags = _flags(context)
    seen: dict[tuple[str, str], str] = {}
    for key, value in study.space.items():
        path: KeyPath = ("space", key)
        section, name = split_key(key)
        if given := GIVEN.get(f"{section}.{name}"):
            yield Finding(
                f"space has the key {key}, but every trial gives its server {given}",
                path=path,
                at_key=True,
                why="all of its choices would run the same, and be compared as if they differed",
                help=f"take {key} out of the space",
            )
        yield from _unknown(path, key, section, name, flags)
        if section in WHOLE_BLOCKS and not name:
            for at, item in entries(key, value):
                if isinstance(item, dict) and not is_range(item):
                    yield from _unknown_inside(at, section, list(item))
        setting = setting_of(key)
        if setting in seen:
            first = seen[setting]
            yield Finding(
                f"{first} and {key} are the same key of the space",
                path=path,
                at_key=True,
                why="one of them would hide the other",
                help="keep one of the two",
                related=((("space", first), "first given here"),),
            )
        seen.setdefault(setting, key)


def _unknown(path: KeyPath, key: str, section: str, name: str, flags: Sequence[str]) -> Iterator[Finding]:
    help = ""
    if section not in SECTIONS:
        fields = fields_of(Deployment)
        owner = next((s for s in SECTIONS if _known(s) and key in _known(s)), None)
        if section in fields:
            help = f"{section} only declares facts; search over {', '.join(SECTIONS)}"
        elif owner is not None:
            help = f"write {owner}.{key}"
        else:
            near = nearest(section, SECTIONS)
            help = f"write {near}{key[len(section) :]}" if near else f"keys begin with {', '.join(SECTIONS)}"
    elif not name:
        if section in WHOLE_BLOCKS:
            return
        help = f"name a key of the block, such as {section}.{(_known(section) or ['NAME'])[0]}"
    else:
        known = _known(section) or (flags if section == "server" else ())
        if not known or name in known:
            return
        near = nearest(name, known)
        help = f"write {section}.{near}" if near else f"known keys are {', '.join(list(known)[:8])}"
        if section == "speculative" and not near:
            help = f"a flag of the engine is searched as server.speculative_{name}"
    new = help.removeprefix("write ") if help.startswith("write ") else ""
    fix = Fix(f"write {new} for {key}", path, new, kind="rename") if new else None
    message = f'space has the key "{key}", which no deployment has'
    yield Finding(message, path, True, why=_WHY, help=help, fix=fix)


def _unknown_inside(at: KeyPath, section: str, names: list[str]) -> Iterator[Finding]:
    known = _known(section)
    for name in names if known else ():  # NCCL's variables have rules of their own
        if name not in known:
            near = nearest(name, known)
            yield Finding(
                f'{show_path(at)} has the key "{name}", which {section} has not',
                (*at, name),
                True,
                why=_WHY,
                help=f"write {near}" if near else f"known keys are {', '.join(known)}",
                fix=Fix(f"write {near} for {name}", (*at, name), near, kind="rename") if near else None,
            )


def _known(section: str) -> list[str]:
    """Keys of a block that has a fixed set of them."""
    model = fields_of(Deployment)[section].model
    return list(fields_of(model)) if model is not None else []


def _flags(context: Context) -> list[str]:
    """Server flags of the study's engine version, aliases included; empty where it is unknown."""
    config = context.study_config
    if config is None or config.engine is None:
        return []
    facts = load_facts(config.engine.name, config.engine.version)
    if facts is None:
        return []
    aliases = (alias.lstrip("-").replace("-", "_") for flag in facts.flags.values() for alias in flag.aliases)
    return [*facts.flags, *aliases]


RULE = Rule(
    id="EC703",
    slug="space-key",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=check,
    scope="study",
)
