"""What an engine version really runs for the arguments it is given, setting by setting."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.engines.arguments import Argument
from eaglecfg.engines.facts import EngineFacts, FlagFact
from eaglecfg.engines.flags import UNREADABLE
from eaglecfg.engines.numerals import whole
from eaglecfg.record import record

OVERRIDES = "json_model_override_args"
"""The flag whose object is laid over the configs of target and draft alike."""

Origin = Literal["asked", "default", "rewritten", "refused", "ignored", "unknown"]


@record
class Setting:
    """One setting.

    ``asked`` is the given value (None: not given), ``runs`` the one that runs (None: off, or not known).
    ``origin``: ``asked``, as given; ``default``, not given; ``rewritten``, the engine runs another value;
    ``refused``, the engine stops at start; ``ignored``, given without effect; ``unknown``, this version has
    no such flag. ``why`` is one sentence where there is something to say, ``source`` where the fact was read.
    """

    name: str
    asked: Any
    runs: Any
    origin: Origin
    why: str = ""
    source: str = ""


@record
class Resolution:
    """All settings that were given or that the engine works out; any other flag runs its default.

    Names are flag names. Names with a dot are no flags: ``target.dtype``, ``draft.dtype``,
    ``target.context_length``, ``draft.context_length``, ``draft.quantization``, ``draft.tp_size``,
    ``attention.tp_size``.
    """

    settings: Mapping[str, Setting]
    facts: EngineFacts

    def get(self, name: str) -> Setting:
        """The setting of ``name``, made up from the flag's default where nothing set it.

        A flag goes by any of its names, and by a beginning that the engine completes.
        """
        found = self.settings.get(name)
        if found is not None:
            return found
        flag = self.facts.flags.get(name)
        if flag is None:
            known = self.facts.flags.canonical(name)
            if known != name and (known in self.settings or known in self.facts.flags):
                return self.get(known)
            return Setting(
                name, None, None, "unknown", f"{self.facts.name} {self.facts.facts_of} has no such setting"
            )
        default = None if flag.default == UNREADABLE else flag.default
        return Setting(name, None, default, "default", source=flag.source)

    def runs(self, name: str) -> Any:
        """The value that runs, None where it is off or not known."""
        return self.get(name).runs

    def asked(self, name: str) -> Any:
        """The value that was given, None where none was."""
        return self.get(name).asked

    def with_origin(self, *origins: Origin) -> tuple[Setting, ...]:
        """Settings of these origins, by name."""
        return tuple(one for _, one in sorted(self.settings.items()) if one.origin in origins)

    @property
    def graphs(self) -> bool:
        """Whether decode runs in CUDA graphs."""
        if self.graph_backend("decode") == "disabled" or self.runs("device") == "cpu":
            return False
        return self.graphs_off_by() is None

    def graphs_off_by(self) -> Mapping[str, Any] | None:
        """What else switches the graphs of decode off, whatever the flags about graphs say: a row of the
        facts, with the setting ``by`` and its ``source``."""
        rows = [row for row in self.facts.values["graphs_off"] if self.asked(row["by"]) is not None]
        if not rows:
            return None
        from eaglecfg.engines.conditions import holds  # few deployments get here

        return next((row for row in rows if holds(row["if"], self.runs)), None)

    def graph_backend(self, phase: Literal["decode", "prefill"]) -> str | None:
        """What the flags make of the graphs of ``phase`` (``disabled``, ``full``, ``breakable`` ...).

        None: no flag speaks of them, so that the engine decides. A more particular flag wins, as in the
        engine.
        """
        whole = override_args(self.asked("cuda_graph_config")).get(phase)
        if isinstance(whole, dict) and isinstance(whole.get("backend"), str):
            return str(whole["backend"])
        own = self.runs(f"cuda_graph_backend_{phase}")
        if isinstance(own, str):
            return own
        for flag, backend in _OLDER_GRAPH_FLAGS.items() if phase == "prefill" else ():
            if self.runs(flag) is True:
                return backend
        off = self.runs(f"disable_{phase}_cuda_graph") or self.runs("disable_cuda_graph")
        return "disabled" if off else None

    def overridden(self, config: ModelConfig) -> ModelConfig:
        """``config`` with ``json_model_override_args``, which reach target and draft alike.

        ``config`` itself where they change nothing: a key that a draft's class ignores stays what the file
        says of its training.
        """
        changes = override_args(self.asked(OVERRIDES))
        if not changes:
            return config
        from eaglecfg.engines.overrides import laid_over

        merges = self.facts.values["override_merges"]
        seen = laid_over(config, changes, merges)
        draft = self.facts.drafts.get(seen.architecture or "")
        if draft is None or draft.ignores.isdisjoint(changes):
            return seen
        heard = {key: value for key, value in changes.items() if key not in draft.ignores}
        return laid_over(config, heard, merges)


def override_args(value: Any) -> Mapping[str, Any]:
    """The object behind ``json_model_override_args``, empty where it is absent or no JSON object."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


_OLDER_GRAPH_FLAGS = {
    "disable_piecewise_cuda_graph": "disabled",
    "enable_breakable_cuda_graph": "breakable",
    "enforce_piecewise_cuda_graph": "tc_piecewise",
}
"""Flags of before that are other spellings of cuda_graph_backend_prefill."""


class Draftsheet:
    """Settings while they are worked out. Steps read with ``runs`` and write with ``put``."""

    def __init__(self, facts: EngineFacts, given: Mapping[str, Argument]) -> None:
        self.facts = facts
        self.settings: dict[str, Setting] = {}
        for name, argument in given.items():
            self.settings[name] = _given(facts, name, argument.value)

    def setting(self, name: str) -> Setting:
        return Resolution(self.settings, self.facts).get(name)

    def runs(self, name: str) -> Any:
        return self.setting(name).runs

    def asked(self, name: str) -> Any:
        return self.setting(name).asked

    def put(
        self, name: str, runs: Any, origin: Origin, why: str, fact: str = "", *, source: str = ""
    ) -> None:
        """Record that ``name`` runs ``runs``. ``fact`` names the value fact that says so, ``source`` where
        a fact of another table was read."""
        read = source or self.facts.sources.get(fact, "")
        self.settings[name] = Setting(name, self.asked(name), runs, origin, why, read)

    def refuse(self, name: str, why: str, fact: str = "") -> None:
        self.put(name, None, "refused", why, fact)


def resolve(
    facts: EngineFacts,
    given: Mapping[str, Argument],
    target: ModelConfig | None,
    draft: ModelConfig | None,
    *,
    env: Mapping[str, str],
    gpu: str | None = None,
) -> Resolution:
    """Settings of a server started with ``given`` on GPUs called ``gpu``. Pure.

    A config that is None, or a GPU that is not named or not known, leaves what depends on it not known.
    """
    from eaglecfg.engines import (
        resolve_attention,
        resolve_models,
        resolve_parallel,
        resolve_speculation,
    )

    sheet = Draftsheet(facts, {facts.flags.canonical(name): argument for name, argument in given.items()})
    target, draft = (
        config and Resolution(sheet.settings, facts).overridden(config) for config in (target, draft)
    )
    resolve_parallel.resolve_parallel(sheet)
    major = None
    if gpu:
        from eaglecfg.engines.gpu import capability_major

        major = capability_major(gpu)
    resolve_attention.resolve_attention(sheet, target, major)
    resolve_speculation.resolve_speculation(sheet, target)
    resolve_models.resolve_models(sheet, target, draft, env)
    return Resolution(sheet.settings, facts)


def _given(facts: EngineFacts, name: str, value: Any) -> Setting:
    flag = facts.flags.get(name)
    label = f"{facts.name} {facts.facts_of}"
    if flag is None:
        return Setting(name, value, None, "unknown", f"{label} has no flag {_spelled(name)}")
    fault = _fault(flag, value)
    if fault:
        return Setting(name, value, None, "refused", fault, flag.source)
    why = f"{label} marks it deprecated in favour of {flag.deprecated}" if flag.deprecated else ""
    if flag.type == "int":
        value = whole(value)  # from here on 4096 in quotes is the number that the engine makes of it
    return Setting(name, value, value, "asked", why, flag.source)


def _fault(flag: FlagFact, value: Any) -> str:
    """Why the argument parser would refuse ``value``, empty if it takes it."""
    values = value if isinstance(value, list) else [value]
    if flag.choices is not None and not all(str(one) in flag.choices for one in values):
        return f"{_spelled(flag.name)} takes one of {', '.join(flag.choices)}, got {value}"
    if flag.type == "bool" and not isinstance(value, bool):
        return f"{_spelled(flag.name)} is a switch (true or false), got {value}"
    number = {"int": int, "float": float}.get(flag.type)
    if number is not None and not _is_number(value, number):
        return f"{_spelled(flag.name)} takes {'a whole number' if number is int else 'a number'}, got {value}"
    return ""


def _is_number(value: Any, kind: type[int] | type[float]) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, str):
        if kind is int:
            return whole(value) is not None
        try:
            float(value)
        except ValueError:
            return False
        return True
    return isinstance(value, int) or (kind is float and isinstance(value, float))


def _spelled(name: str) -> str:
    return "--" + name.replace("_", "-")
