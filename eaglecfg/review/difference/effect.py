"""What a deployment comes to: all that decides what is served, as named values that can be compared."""

from __future__ import annotations

import hashlib
import json
import os.path
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from eaglecfg.checkpoint.dtypes import BITS
from eaglecfg.checkpoint.facts import CheckpointFacts
from eaglecfg.engines.command import environment, launch_arguments
from eaglecfg.engines.resolve import Setting
from eaglecfg.engines.wiring import Wiring, wiring_of
from eaglecfg.record import record
from eaglecfg.report.upgrade import capture_words, setting_words
from eaglecfg.rules.context import Context
from eaglecfg.source.secrets import HIDDEN, is_secret_name, redact_arguments, redact_data, redact_text

Group = Literal[
    "engine", "capture", "draft", "checkpoint", "setting", "environment", "memory", "messages", "declared",
    "study",
]  # fmt: skip
GROUPS: tuple[Group, ...] = (
    "engine", "capture", "draft", "checkpoint", "setting", "environment", "memory", "messages", "declared",
    "study",
)  # fmt: skip
"""The order in which changes are told: what breaks silently comes first."""

MODEL_FLAGS = frozenset(
    ("model_path", "revision", "speculative_draft_model_path", "speculative_draft_model_revision")
)
"""Settings that name the checkpoints, which are compared as such."""

MOST_KEYS = 2_000
"""Keys of one config.json that are compared; quantisation listed per layer can have more."""

MOST_TENSORS = 2_000
"""Tensors of a draft that are compared one by one."""


@record
class Fact:
    """One named value. ``key`` is what is compared, and may hold a secret: only ``value`` (plain data) and
    ``words`` are ever shown. ``source`` is where an engine fact was read."""

    group: Group
    name: str
    key: Any
    value: Any
    words: str
    source: str = ""


Facts = Mapping[tuple[Group, str], Fact]


@record
class Effect:
    """One deployment. ``launch`` are the server's arguments, one option and its values each, without secrets;
    ``setting`` gives the setting of a flag that no fact is about. ``inert``: group and name of what is given
    and has no effect, as findings say."""

    facts: Facts
    launch: tuple[tuple[str, ...], ...]
    context: Context
    inert: frozenset[tuple[Group, str]] = frozenset()

    @property
    def identity(self) -> str:
        """A hash of everything compared: two deployments with the same one serve the same."""
        keys = [(*name, fact.key) for name, fact in sorted(self.facts.items())]
        text = json.dumps([keys, sorted(self.launch)], sort_keys=True, default=str)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def effect_of(context: Context) -> Effect:
    """The effect of the deployment of ``context``. Reads nothing."""
    facts = [
        *_engine(context),
        *_capture(context),
        *_wiring(context),
        *_checkpoints(context),
        *_settings(context),
        *_environment(context),
        *_memory(context),
        *_messages(context),
        *_declared(context),
    ]
    words = redact_arguments(launch_arguments(context.model, context.engine))
    options = tuple(_same_folder(option) for option in _options(words))
    return Effect({(fact.group, fact.name): fact for fact in facts}, options, context)


def _same_folder(option: tuple[str, ...]) -> tuple[str, ...]:
    """``option`` with the one spelling of a checkpoint's folder: ./draft is draft."""
    name = option[0].lstrip("-").replace("-", "_")
    return (option[0], *map(_spelled, option[1:])) if name in MODEL_FLAGS else option


def _spelled(checkpoint: str) -> str:
    return checkpoint if "://" in checkpoint else os.path.normpath(checkpoint)


def _options(words: list[str]) -> Iterator[tuple[str, ...]]:
    """The words of a command line, each option with its values."""
    chunk: list[str] = []
    for word in words:
        if word.startswith("--") and chunk:
            yield tuple(chunk)
            chunk = []
        chunk.append(word)
    if chunk:
        yield tuple(chunk)


def plain(value: Any) -> str:
    """A value as JSON spells it, text without quotes; without secrets that can be told by their form."""
    shown = redact_data(value)
    return shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False, default=str)


def _fact(group: Group, name: str, value: Any, words: str = "", source: str = "") -> Fact:
    shown = redact_data(value)
    return Fact(group, name, value, shown, words or plain(value), source)


def _engine(context: Context) -> Iterator[Fact]:
    engine = context.config.engine
    if engine is None:
        return
    words = f"{engine.name} {engine.version}"
    facts = context.engine
    if facts is None:
        words += " (no facts about it)"
    elif facts.standing != "known":
        words += f" (facts of {facts.facts_of})"
    yield Fact(
        "engine", "version", f"{engine.name} {engine.version}", f"{engine.name} {engine.version}", words
    )


def _capture(context: Context) -> Iterator[Fact]:
    found, trained = context.boundaries, context.trained
    if found is not None:
        value = {
            "boundaries": list(found.captured),
            "decode": None if found.decode is None else list(found.decode),
            "outcome": found.outcome,
            "residual": found.residual,
        }
        yield _fact("capture", "effective boundaries", value, capture_words(context), found.source)
        if found.ids is not None:
            yield _fact("capture", "layer ids", list(found.ids))
    if trained is not None:
        yield _fact("capture", "trained boundaries", list(trained))


def _wiring(context: Context) -> Iterator[Fact]:
    if context.engine is None or context.draft is None or not context.speculates:
        return
    target = context.target.config if context.target is not None else None
    wiring = wiring_of(context.engine, target, context.draft.config, context.resolution)
    if wiring is None:
        return
    yield _fact("draft", "fc input width", wiring.fc_in, _width_words(wiring))
    for name, value in (
        ("hidden size", wiring.hidden),
        ("layers", wiring.layers),
        ("heads", wiring.heads),
        ("key and value heads", wiring.kv_heads),
        ("head", f"{wiring.head}'s" if wiring.head == "target" else wiring.head),
        ("vocabulary", wiring.draft_vocabulary),
        ("needs d2t", wiring.needs_map),
    ):
        if value is not None:
            yield _fact("draft", name, value)


def _width_words(wiring: Wiring) -> str:
    if wiring.fc_in is None:
        return "not known"
    return f"{wiring.fc_in} = {wiring.states} × {wiring.state_width}"


def _checkpoints(context: Context) -> Iterator[Fact]:
    model = context.model
    sides = [("target", model.target.checkpoint, model.target.revision, context.target)]
    if context.speculates and model.draft is not None:
        sides.append(("draft", model.draft.checkpoint, model.draft.revision, context.draft))
    for role, spelled, revision, facts in sides:
        words = f"{spelled}@{revision}" if revision else spelled
        yield _fact("checkpoint", role, [_spelled(spelled), revision], redact_text(words))
        if facts is None:
            continue
        if facts.config is not None:
            for name, value in _flat(facts.config.raw):
                yield _fact("checkpoint", f"{role} config.json {name}", value)
        yield from _tensors(role, facts)


def _tensors(role: str, facts: CheckpointFacts) -> Iterator[Fact]:
    """Shapes of a draft's tensors one by one, of a target the number of its tensors."""
    if role == "target" or len(facts.tensors) > MOST_TENSORS:
        if facts.names is not None:
            yield _fact("checkpoint", f"{role} tensors", len(facts.names))
        return
    for name, tensor in facts.tensors.items():
        yield _fact("checkpoint", f"{role} tensor {name}", str(tensor))
    for name, values in (("d2t", facts.vocabulary.d2t), ("t2d", facts.vocabulary.t2d)):
        if values is not None:
            raw = values if isinstance(values, bytes) else json.dumps(values).encode()
            digest = hashlib.sha256(raw).hexdigest()[:12]
            yield _fact("checkpoint", f"{role} {name}", digest, f"{len(values):,} entries, sha256 {digest}")


def _flat(raw: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Keys of a config.json that say something about the model, nested ones with dots; lists are values."""
    stack: list[tuple[str, Any]] = [("", raw)]
    count = 0
    while stack and count < MOST_KEYS:
        name, value = stack.pop()
        if isinstance(value, Mapping) and value:
            stack += [(f"{name}.{key}" if name else key, item) for key, item in reversed(list(value.items()))]
        elif name and name not in ("transformers_version", "_name_or_path"):
            count += 1
            yield name, value


def _settings(context: Context) -> Iterator[Fact]:
    if context.resolution is None:
        for name, argument in (context.arguments or {}).items():
            if name not in MODEL_FLAGS:
                yield _secret(_fact("setting", name, argument.value, f"{plain(argument.value)} as asked"))
        return
    for name, setting in context.resolution.settings.items():
        if name not in MODEL_FLAGS:
            yield setting_fact(setting)


def setting_fact(setting: Setting) -> Fact:
    """One setting: what runs and where that comes from. A switch that is asked to be off is one that nobody
    asks for: engines' switches only turn things on."""
    origin, asked = setting.origin, setting.asked
    if asked is False and setting.runs is False:
        origin, asked = "default", None
    value = {"runs": setting.runs, "origin": origin, "asked": asked, "why": setting.why}
    key = [setting.runs, origin, asked]
    words = redact_text(setting_words(setting)) if origin == setting.origin else "false (default)"
    return _secret(Fact("setting", setting.name, key, redact_data(value), words, setting.source))


def _secret(fact: Fact) -> Fact:
    """``fact`` without what it says, where its name is that of a secret."""
    if not is_secret_name(fact.name) or fact.key in (None, [None, "default", None]):
        return fact
    return Fact(fact.group, fact.name, fact.key, HIDDEN, HIDDEN)


def _environment(context: Context) -> Iterator[Fact]:
    given = environment(context.model)
    for name, text in given.items():
        yield _secret(_fact("environment", name, text))
    if context.engine is None or context.engine.name != "sglang":
        return
    from eaglecfg.rules.nccl.settings import look  # with the tables about NCCL behind it

    settings = look(context)
    for name in settings.written():
        seen = settings.sees(name)
        if seen.by_engine and seen.text is not None:
            why = f": {seen.why}" if seen.why else ""
            words = f"{seen.text} (written by the engine{why})"
            yield Fact("environment", name, ["engine", seen.text], seen.text, words, seen.source)


def _memory(context: Context) -> Iterator[Fact]:
    for role, facts in (("target", context.target), ("draft", context.draft)):
        size = _weights(facts) if facts is not None else None
        if size is not None:
            yield _fact("memory", f"{role} weights", size, _bytes(size))


def _weights(facts: CheckpointFacts) -> int | None:
    """Bytes of all tensors, None where not every header was read."""
    if not facts.names or len(facts.tensors) < len(facts.names):
        return None
    bits = 0
    for tensor in facts.tensors.values():
        if tensor.dtype not in BITS:
            return None
        size = BITS[tensor.dtype]
        for length in tensor.shape:
            size *= length
        bits += size
    return bits // 8


def _bytes(size: float) -> str:
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"


def _messages(context: Context) -> Iterator[Fact]:
    """Who carries the all-reduce of decode."""
    if context.engine is None or context.engine.name != "sglang" or context.model.parallel.tp_size <= 1:
        return
    from eaglecfg.nccl.paths import TITLES
    from eaglecfg.rules.nccl.paths import path_of

    yield from _sizes(context)
    path = path_of(context)
    if path is None or (path.open is not None and path.open.wanted):
        return
    names = ", ".join(taken.carrier for taken in path.takers)
    words = "; ".join(f"{TITLES[taken.carrier]}: {taken.why}" for taken in path.takers)
    sources = "; ".join(dict.fromkeys(taken.source for taken in path.takers if taken.source))
    yield Fact("messages", "decode all-reduce", names, names, words, sources)


def _sizes(context: Context) -> Iterator[Fact]:
    """What one request puts on the links between two verifies, kind of pass by kind of pass."""
    from eaglecfg.nccl.traffic import phases

    assert context.engine is not None
    if context.resolution is None:
        return
    configs = (each.config if each is not None else None for each in (context.target, context.draft))
    for phase in phases(context.engine.facts_of, context.resolution, *configs):
        size = phase.size(1)
        value = {"bytes": size, "calls": phase.calls, "forwards": phase.forwards}
        count = "" if phase.calls is None else f"{phase.calls * phase.forwards} × "
        yield _fact("messages", f"{phase.name} all-reduce", value, f"{count}{_bytes(size)} a request")


def _declared(context: Context) -> Iterator[Fact]:
    """What the file tells about the world outside: nothing of it is launched, but checks rest on it."""
    model = context.model
    if model.hardware is not None:
        for name, value in model.hardware.model_dump(exclude_none=True).items():
            yield _fact("declared", f"hardware.{name}", value)
    length = model.expected_accept_length
    if length is not None:
        yield _fact("declared", "expected_accept_length", length)
    if model.unchecked_variables:
        yield _fact("declared", "unchecked_variables", sorted(model.unchecked_variables))
