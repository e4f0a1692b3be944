"""The arguments of a server to settings: names as the engine's version has them, values by type."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from eaglecfg.engines.facts import EngineFacts, FlagFact
from eaglecfg.engines.table import load_facts
from eaglecfg.record import record
from eaglecfg.review.imports.text import Note, Text, guarded
from eaglecfg.review.placing import DRAFT, MODEL
from eaglecfg.review.render.launch import FLAG, as_number
from eaglecfg.source.secrets import is_secret_name

_NEGATIVE = re.compile(r"-\d+|-\d*\.\d+")
_WHOLE = re.compile(r"-?(?:0|[1-9]\d{0,17})", re.ASCII)
_DECIMAL = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?", re.ASCII)
MOST_WORDS = 20_000

_ONCE_SHORT = {"speculative_draft": DRAFT}
"""Beginnings of options that only one flag had when the commands that use them were written."""


@record
class Setting:
    """One flag with its value as plain data. ``unknown`` names what in it is not known, and then ``value`` is
    only its spelling. ``remark`` is what to say beside it."""

    name: str
    value: Any
    unknown: tuple[str, ...] = ()
    remark: str = ""


@record
class Read:
    """The settings of a command line in its order, and what is to be told about it."""

    settings: dict[str, Setting]
    notes: tuple[Note, ...]


def read_flags(words: Sequence[Text], facts: EngineFacts | None, line: int = 0) -> Read:
    """The settings in ``words``. Of a flag that is given twice the last one counts, as for the engine."""
    reader = _Reader(facts, line)
    at = 0
    if words and not words[0].text.startswith("-") and words[0].text:
        reader.add(Setting(MODEL, words[0].text, words[0].unknown), "the first word")
        if words[0].unknown:
            reader.may_hold_flags(words[0])
        at = 1
    while at < len(words):
        at = reader.option(words, at)
    return Read(reader.settings, tuple(reader.notes))


class _Reader:
    def __init__(self, facts: EngineFacts | None, line: int) -> None:
        self.facts = facts
        self.line = line
        self.settings: dict[str, Setting] = {}
        self.notes: list[Note] = []

    def tell(self, text: str) -> None:
        self.notes.append(Note(text, self.line))

    def todo(self, text: str) -> None:
        self.notes.append(Note(text, self.line, todo=True, block="server"))

    def may_hold_flags(self, word: Text) -> None:
        self.todo(f"{guarded(word.text)} is not known here: it may hold flags")

    def add(self, setting: Setting, shown: str) -> None:
        old = self.settings.get(setting.name)
        if old is not None:
            secret = is_secret_name(setting.name)
            which = (
                "the last one counts"
                if secret
                else f"{_shown(setting.value)} counts, not {_shown(old.value)}"
            )
            self.tell(f"{shown} is given twice: {which}")
        self.settings[setting.name] = setting

    def option(self, words: Sequence[Text], at: int) -> int:
        """Take the option at ``at`` with its values. Returns where the next one begins."""
        word = words[at]
        option, equals, inline = word.text.partition("=")
        if not _is_option(word.text) or not FLAG.fullmatch(option.lstrip("-")):
            self._stray(word)
            return at + 1
        name, told = self._name(option)
        flag = self.facts.flags.get(name) if self.facts is not None else None
        if told:
            self.tell(told)
        if equals:
            values: list[Text] = [Text(inline, word.unknown)]
            end = at + 1
        else:
            values, end = _values(words, at + 1, flag)
            if flag is not None and flag.type == "bool" and values and values[0].unknown:
                values, end = [], at + 1  # a switch takes no value: the word holds flags, or nothing
        self.add(self._setting(name, flag, values, option), option)
        return end

    def _stray(self, word: Text) -> None:
        if _of_the_caller(word):
            self.todo('the caller\'s own arguments ("$@") are not known here: they may hold flags')
        elif word.unknown:
            self.may_hold_flags(word)
        else:
            self.todo(f"the word {guarded(word.text)!r} belongs to no flag: the engine stops there")

    def _name(self, option: str) -> tuple[str, str]:
        """The flag behind an option, and what is to be told about its spelling."""
        plain = option.lstrip("-").replace("-", "_")
        if self.facts is None:
            return plain, ""
        name = self.facts.flags.canonical(option)
        if name not in self.facts.flags:
            matches = self._abbreviated(plain)
            if len(matches) == 1:
                name = matches.pop()
            elif plain in _ONCE_SHORT:
                return _ONCE_SHORT[plain], (
                    f"{option} is read as {_spelled(_ONCE_SHORT[plain])}, for which it was short once; "
                    f"{self.facts.name} {self.facts.facts_of} refuses it"
                )
        if name in self.facts.flags and not option.startswith("--"):
            return name, f"{option} is read as {_spelled(plain)}, which is how the engine spells it"
        return name, ""

    def _abbreviated(self, plain: str) -> set[str]:
        """The flags that the engine's parser takes ``plain`` for the beginning of."""
        return {name for option, name in self._options.items() if option.startswith(plain)}

    @cached_property
    def _options(self) -> dict[str, str]:
        """Every spelling of every option, with underscores, and the flag behind it."""
        out: dict[str, str] = {}
        for name, flag in self.facts.flags.items() if self.facts is not None else ():
            own = flag.option.removeprefix("--").replace("-", "_") or name
            out |= dict.fromkeys((own, *flag.aliases), name)
        return out

    def _setting(self, name: str, flag: FlagFact | None, values: list[Text], option: str) -> Setting:
        unknown = tuple(dict.fromkeys(part for value in values for part in value.unknown))
        texts = [value.text for value in values]
        remark = self._not_known(name, option) if flag is None and self.facts is not None else ""
        kind = flag.type if flag is not None else ""
        if kind == "bool" and texts:
            self.tell(f"{option} is a switch that takes no value: the engine stops at {texts[0]!r}")
        if len(texts) > 1 and kind not in ("list", "json"):
            for value in values:
                if value.unknown and len(values) > 1 and flag is None:
                    self.may_hold_flags(value)
        if not texts:
            if kind not in ("bool", "", "list"):
                self.tell(f"{option} has no value: the engine stops there")
            return Setting(name, [] if kind == "list" else True, (), remark)
        if kind == "list" or len(texts) > 1:
            return Setting(name, [_by_look(text) for text in texts], unknown, remark)
        return Setting(name, typed(texts[0], kind), unknown, remark)

    def _not_known(self, name: str, option: str) -> str:
        assert self.facts is not None
        label = f"{self.facts.name} {self.facts.facts_of}"
        others = _versions_with(self.facts, name)
        known = f"; {others}" if others else ""
        self.tell(f"{option} is no flag of {label}, and is kept under server{known}")
        return f"no flag of {label}{known}"


def _versions_with(facts: EngineFacts, name: str) -> str:
    """Which versions have the flag ``name``, in words; empty where none has."""
    having = [
        version
        for version in facts.known_versions
        if (other := load_facts(facts.name, version)) is not None and name in other.flags
    ]
    if not having:
        return ""
    return f"{having[0]} has it" if len(having) == 1 else f"{having[0]} to {having[-1]} have it"


def _values(words: Sequence[Text], at: int, flag: FlagFact | None) -> tuple[list[Text], int]:
    """The values behind an option, and where the next option begins."""
    most = MOST_WORDS if flag is None or flag.type == "list" else 1
    end = at
    while end < len(words) and end - at < most and not _is_option(words[end].text):
        if _of_the_caller(words[end]):
            break
        end += 1
    return list(words[at:end]), end


def _of_the_caller(word: Text) -> bool:
    """Whether the word stands for all arguments of the script."""
    return word.unknown in (("@",), ("*",))


def _is_option(text: str) -> bool:
    return (
        text.startswith("-")
        and len(text) > 1
        and not _NEGATIVE.fullmatch(text)
        and " " not in text.split("=")[0]
    )


def typed(text: str, kind: str) -> Any:
    """``text`` as the plain data that gives the same text again, by the flag's type."""
    if kind in ("int", "float"):
        return as_number(text, kind)
    if kind == "str":
        return text
    if kind == "json" and len(text) < 20_000:
        try:
            value = json.loads(text)
            if isinstance(value, dict | list) and json.dumps(value) == text:
                return value
        except (ValueError, RecursionError):
            pass
        return text
    return _by_look(text)


def _by_look(text: str) -> Any:
    """A number where ``text`` is the one spelling of it, else the text."""
    if _WHOLE.fullmatch(text) and text != "-0":
        return int(text)
    if _DECIMAL.fullmatch(text) and repr(float(text)) == text:
        return float(text)
    return text


def _spelled(name: str) -> str:
    return "--" + name.replace("_", "-")


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
