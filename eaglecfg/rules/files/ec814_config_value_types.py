"""Values of config.json that the model cannot be built from, or that are read as something else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.checkpoint.locate import locate
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import listed, shown
from eaglecfg.rules.files.config_values import Misfit, fits_dtype, misfits
from eaglecfg.rules.files.problems import SHOWN, Side, checkpoints
from eaglecfg.rules.model import Evidence, Finding, Item, NotApplicable, NotChecked, Rule, Severity, Today

CHECKS_TYPES = (5, 6)
"""The transformers version from which a config class refuses values of another type than its field's."""

_FALSE = ("false", "no", "off", "0", "none", "")
_REFUSED = "transformers checks the type of every field and refuses the config"
_BROKEN = "the model's shape is worked out of it, and the engine stops at start"
_NO_DTYPE = "transformers looks the dtype up in torch by this name while it reads the config, and stops"
_SILENT = "it is taken as it is: text counts as true, and a token id that is none is never met"


def check(context: Context) -> Iterator[Item]:
    """Look at the keys that every model class reads alike; one finding for each config.json."""
    configs = [(side, facts.config) for side, facts in checkpoints(context)]
    for side, config in configs:
        if config is None:
            continue  # another rule says why it could not be read
        wrong = sorted(misfits(config, draft=side == "draft"), key=lambda one: _weight(context, config, one))
        if wrong:
            yield _finding(context, side, config, wrong)
    if not any(config is not None for _, config in configs):
        yield NotChecked("no config.json could be read") if configs else NotApplicable()


def _finding(context: Context, side: Side, config: ModelConfig, wrong: Sequence[Misfit]) -> Finding:
    first, rest = wrong[0], [one.found.key for one in wrong[1:]]
    severity, today, why = _effect(context, config, first)
    also = f"; the same holds for {listed(rest)}" if rest else ""
    return Finding(
        f"{first.found.key} in {config.file} takes {first.takes}, but is {_spelled(first.found.value)}{also}",
        context.where(side, "checkpoint"),
        severity=severity,
        today=today,
        why=why,
        help=_help(first),
        evidence=tuple(_line(config, one) for one in wrong[:SHOWN]),
        values={"checkpoint": side, "key": first.found.key, "value": first.found.value},
    )


def _effect(context: Context, config: ModelConfig, one: Misfit) -> tuple[Severity, Today, str]:
    """How bad the misfit is, what the engine does about it, and why."""
    if one.kind == "own switch":
        value = one.found.value
        opposite = isinstance(value, str) and value.lower() in _FALSE[:-1]
        why = "the draft's class does not look at the type, and Python takes any such value for true"
        if not value:
            why = "the draft's class does not look at the type, and Python takes an empty value for false"
        return (Severity.ERROR if opposite else Severity.WARNING), Today.SILENT, why
    if one.takes.startswith("a dtype"):
        return Severity.ERROR, Today.CRASH_AT_START, _NO_DTYPE
    if one.kind in ("switch", "token") and not _strict(context, config):
        return Severity.WARNING, Today.SILENT, _SILENT
    return Severity.ERROR, Today.CRASH_AT_START, _REFUSED if _strict(context, config) else _BROKEN


def _weight(context: Context, config: ModelConfig, one: Misfit) -> bool:
    return _effect(context, config, one)[0] is not Severity.ERROR


def _strict(context: Context, config: ModelConfig) -> bool:
    """Whether the config class checks types. One that comes with the checkpoint need not."""
    if context.engine is None or config.raw.get("auto_map"):
        return False
    pin = context.engine.values.get("pins", {}).get("transformers", "")
    parts = pin.lstrip("=<>~").split(".")[:2]
    return all(part.isdecimal() for part in parts) and tuple(map(int, parts)) >= CHECKS_TYPES


def _spelled(value: object) -> str:
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    return f"the text {shown(value)}" if isinstance(value, str) else shown(value)


def _help(one: Misfit) -> str:
    value, takes = one.found.value, one.takes
    if one.kind == "length" and isinstance(value, str | float):
        text = str(value).strip().removesuffix(".0")
        if text.isdecimal() and len(text) < 10 and int(text) > 0:
            return f"write {int(text)}, without quotes and without a decimal point"
    if "switch" in one.kind and isinstance(value, str | int):
        return f"write {'false' if str(value).lower() in _FALSE else 'true'}, without quotes"
    if takes.startswith("a dtype"):
        names = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "f16": "float16", "f32": "float32"}
        name = str(value).lower().removeprefix("torch.")
        name = names.get(name, name)
        return f"write {name if fits_dtype(name) else 'the name that torch has for it'}"
    return f"write {takes}; the file as it was published has it"


def _line(config: ModelConfig, one: Misfit) -> Evidence:
    line, column = locate(config, one.found.key) or (None, None)
    return Evidence(config.file, one.found.key, shown(one.found.value), f"takes {one.takes}", line, column)


RULE = Rule(
    id="EC814",
    slug="config-value-types",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_START,
    check=check,
    follows=("EC801", "EC802"),
)
