"""Where the facts disagree with a wheel of the engine. Maintenance only: ``validate`` never comes here."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eaglecfg.engines import wheel_attention
from eaglecfg.engines.facts import CaptureFact, EngineFacts, FlagFact
from eaglecfg.engines.refusals import refusals
from eaglecfg.engines.table import no_targets, rows_of
from eaglecfg.engines.wheel import Module, architectures, read_models, read_setters
from eaglecfg.engines.wheel_drafts import draft_keys
from eaglecfg.engines.wheel_flags import read_flags
from eaglecfg.engines.wheel_refusals import read_messages
from eaglecfg.engines.wheel_setter import Difference, Refused, differences, rule_of
from eaglecfg.engines.wheel_values import READERS

TOPICS = (
    "flags", "targets", "id rules", "default boundaries", "drafts", "architectures", "values", "refusals",
)  # fmt: skip
REAL_DEPTH = 24
_FLAG_PARTS = ("type", "default", "choices", "aliases", "deprecated", "option", "items")


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One fact that the wheel contradicts.

    ``told`` is what the facts say and ``found`` what the wheel does, each empty where that side has nothing.
    ``source`` is the place in the wheel, ``hint`` what to do about it.
    """

    topic: str
    name: str
    told: str
    found: str
    source: str = ""
    hint: str = ""


@dataclass(slots=True)
class Comparison:
    """What was compared, by topic, and where it disagrees. ``unread``: what could not be, and why."""

    compared: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TOPICS, 0))
    disagreements: list[Disagreement] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)

    def add(self, *found: Disagreement) -> None:
        self.disagreements += found


def compare(facts: EngineFacts, package: Path) -> Comparison:
    """Compare ``facts`` with the wheel whose package folder is ``package``. Raises OSError, SyntaxError."""
    out = Comparison()
    _flags(facts, package, out)
    modules = read_models(package)
    _targets(facts, modules, out)
    _rules(facts, modules, out)
    _drafts(facts, package, modules, out)
    _architectures(facts, modules, out)
    _values(facts, package, out)
    _refusals(facts, package, out)
    out.disagreements.sort(key=lambda one: (TOPICS.index(one.topic), one.name))
    return out


def _flags(facts: EngineFacts, package: Path, out: Comparison) -> None:
    found = read_flags(package)
    out.compared["flags"] = len(found)
    for name in sorted({*found, *facts.flags}):
        new, old = found.get(name), facts.flags.get(name)
        if new is None and old is not None:
            out.add(Disagreement("flags", name, _flag(old), "", old.source, "the wheel has no such flag"))
        elif old is None and new is not None:
            out.add(Disagreement("flags", name, "", _flag(new), new.source, "the facts have no such flag"))
        elif old is not None and new is not None:
            for part in _FLAG_PARTS:
                told, is_now = getattr(old, part), getattr(new, part)
                if _text(told) != _text(is_now):
                    one = f"{name} {part}"
                    out.add(Disagreement("flags", one, *_sides(told, is_now), new.source))


def _sides(told: Any, found: Any) -> tuple[str, str]:
    """Both values as text; of two lists of names only the names that the other side lacks."""
    if isinstance(told, tuple) and isinstance(found, tuple):
        gone, new = [x for x in told if x not in found], [x for x in found if x not in told]
        if gone or new:
            return f"with {', '.join(gone)}" if gone else "", f"with {', '.join(new)}" if new else ""
    return _text(told), _text(found)


def _flag(flag: FlagFact) -> str:
    parts = [flag.type, f"default {_text(flag.default)}"]
    parts += [f"choices {', '.join(flag.choices)}"] if flag.choices else []
    parts += [f"also {', '.join(flag.aliases)}"] if flag.aliases else []
    return ", ".join(parts)


def _targets(facts: EngineFacts, modules: Mapping[str, Module], out: Comparison) -> None:
    """Classes that have a capture setter, drafts and embedding models that inherit one left aside."""
    setters, apart = read_setters(modules), no_targets(facts.name)
    known = {fact.delegates or name for name, fact in facts.captures.items()} | set(facts.captures)
    out.compared["targets"] = len(facts.captures)
    for name, setter in sorted(setters.items()):
        place = f"{setter.file}:{setter.line}"
        if name not in facts.captures and name not in apart:
            row = rule_of(modules, name)
            told = f"a setter of {setter.owner}"
            hint = (
                f"acts like {_text(row)}; read its forward pass for embedding, last and residual"
                if row
                else "its setter follows no known rule: read it"
            )
            out.add(Disagreement("targets", name, "", told, place, hint))
    for name in sorted(known - set(setters)):
        if name in facts.captures:
            source = facts.captures[name].source
            hint = "the class is gone, or its setter is inherited another way"
            out.add(Disagreement("targets", name, "a capture setter", "", source, hint))


def _rules(facts: EngineFacts, modules: Mapping[str, Module], out: Comparison) -> None:
    setters = read_setters(modules)
    for name, fact in sorted(facts.captures.items()):
        if name not in setters:
            continue  # said under targets
        try:
            found = list(differences(facts, modules, name))
        except Refused as refused:
            _unrun(fact, str(refused), f"{setters[name].file}:{setters[name].line}", out)
            continue
        out.compared["id rules"] += 1
        out.compared["default boundaries"] += 1
        place = f"{setters[name].file}:{setters[name].line}"
        defaults = [one for one in found if one.ids is None]
        out.add(*_worst("default boundaries", modules, fact, defaults, place))
        explicit = [one for one in found if one.ids is not None]
        out.add(*_worst("id rules", modules, fact, explicit, place))


def _worst(
    topic: str, modules: Mapping[str, Module], fact: CaptureFact, runs: list[Difference], place: str
) -> Iterator[Disagreement]:
    """One entry for all runs of a class that differ: the first on a target of real depth stands for them."""
    if not runs:
        return
    first = next((one for one in runs if one.layers >= REAL_DEPTH), runs[0])
    ids = "no ids" if first.ids is None else str(list(first.ids))
    row = rule_of(modules, fact.architecture, fact.delegates)
    hint = f"{len(runs)} runs differ; " + (
        f"the wheel acts like {_text(row)}" if row else "the wheel follows no known rule: read it"
    )
    name = f"{fact.architecture}, {first.layers} layers, {ids}"
    yield Disagreement(topic, name, first.told, first.found, place, hint)


def _unrun(fact: CaptureFact, why: str, place: str, out: Comparison) -> None:
    """A setter that cannot be run alone is said once: quietly where the facts call the row inferred."""
    if fact.inferred:
        out.unread.append(f"{fact.architecture}: {why}; the facts say so too (inferred)")
    else:
        hint = "read the setter by hand"
        out.add(Disagreement("id rules", fact.architecture, fact.rule, f"not run: {why}", place, hint))


def _drafts(facts: EngineFacts, package: Path, modules: Mapping[str, Module], out: Comparison) -> None:
    """EAGLE-3 draft classes, by their name, and the config keys that their modules read."""
    found = {name: path for name, path in architectures(modules).items() if "eagle3" in name.lower()}
    out.compared["drafts"] = len(found)
    for name in sorted({*found, *facts.drafts}):
        if name not in facts.drafts:
            hint = "a new EAGLE-3 draft class: read what it builds and which keys it honours"
            out.add(Disagreement("drafts", name, "", "registered", found[name], hint))
        elif name not in found:
            out.add(Disagreement("drafts", name, "registered", "", facts.drafts[name].source))
        else:
            fact, read = facts.drafts[name], draft_keys(package / found[name])
            for key in sorted(set(read) - fact.honours - fact.ignores - set(fact.also_read)):
                hint = "see what the class does with it: honours, ignores or also_read"
                out.add(
                    Disagreement("drafts", f"{name} {key}", "", "read", f"{found[name]}:{read[key]}", hint)
                )


def _architectures(facts: EngineFacts, modules: Mapping[str, Module], out: Comparison) -> None:
    found = architectures(modules)
    out.compared["architectures"] = len(found)
    for name in sorted({*found, *facts.architectures}):
        if name not in facts.architectures:
            out.add(Disagreement("architectures", name, "", "registered", found[name]))
        elif name not in found:
            out.add(Disagreement("architectures", name, "registered", ""))


def _values(facts: EngineFacts, package: Path, out: Comparison) -> None:
    attention = rows_of(facts.name, facts.facts_of, "attention.json")
    readers = [
        *((key, facts.values.get(key), facts.sources.get(key, ""), read) for key, read in READERS.items()),
        *(
            (f"attention {key}", wheel_attention.told(key, attention.get(key, {})), "", read)
            for key, read in wheel_attention.READERS.items()
            if attention  # an engine whose backends nobody has read has none to compare
        ),
    ]
    for key, told, place, read in readers:
        hit = read(package)
        if hit is None:
            hint = "the code that it was read from has moved or changed its form"
            out.add(Disagreement("values", key, _text(told), "not found", place, hint))
            continue
        out.compared["values"] += 1
        found, place = hit
        for path, old, new in _leaves(key, told, found):
            out.add(Disagreement("values", path, old, new, place))


def _refusals(facts: EngineFacts, package: Path, out: Comparison) -> None:
    """Checks of the arguments, by the words that the engine stops with."""
    messages = read_messages(package)
    for row in refusals(facts):
        if not row.says:
            continue
        if any(row.says in text for text in messages):
            out.compared["refusals"] += 1
        else:
            hint = "the check is gone, or says something else: read it again"
            name = ", ".join(sorted(row.names))
            out.add(Disagreement("refusals", name, row.says, "", row.source, hint))


def _leaves(path: str, told: Any, found: Any) -> Iterator[tuple[str, str, str]]:
    """The places inside a value where the two sides differ: keys of mappings, members of lists of names."""
    if isinstance(told, dict) and isinstance(found, dict):
        for key in sorted({*told, *found}):
            if (key in told) != (key in found):
                here = key in told
                yield f"{path}.{key}", _text(told[key]) if here else "", "" if here else _text(found[key])
            else:
                yield from _leaves(f"{path}.{key}", told[key], found[key])
    elif isinstance(told, list) and isinstance(found, list) and all(isinstance(x, str) for x in told + found):
        for name in sorted({*told} ^ {*found}):
            yield f"{path} {name}", "listed" if name in told else "", "" if name in told else "listed"
    elif _text(told) != _text(found):
        yield path, _text(told), _text(found)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
