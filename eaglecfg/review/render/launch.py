"""What starts a deployment, before any form is chosen: program, words, variables, what stays secret."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from eaglecfg.engines.arguments import arguments
from eaglecfg.engines.command import argument_words, environment_name, handed_on
from eaglecfg.engines.facts import EngineFacts
from eaglecfg.engines.numerals import whole
from eaglecfg.errors import UsageError
from eaglecfg.record import record
from eaglecfg.review.placing import places
from eaglecfg.review.secrets import is_secret_flag, is_secret_value, variable_of
from eaglecfg.schema.deployment import Deployment, Engine
from eaglecfg.source.secrets import is_secret_name
from eaglecfg.source.span import show_path

MODULE = "sglang.launch_server"
DEFAULT_PORT = 30000
NODE_RANK = "NODE_RANK"
"""The variable that tells each host of several its rank, which no file for all of them can."""
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
FLAG = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_IN_NO_PROCESS = re.compile("[\0\ud800-\udfff]")


@record
class Word:
    """One word of the command line: ``text``, then the value of the environment variable ``variable``."""

    text: str
    variable: str = ""


@record
class Variable:
    """One variable of the server. ``text`` None: whoever launches has it, and no form may write it."""

    name: str
    text: str | None


@record
class Launch:
    """How one deployment is started.

    ``words`` follow ``program``. ``options`` are the same words, one group for each option. ``settings`` are
    the flags behind them, by name. ``gpus`` is the number of ranks on one of the ``nodes`` hosts. ``handed``
    names the variables that whoever launches must have, in the order of the names.
    """

    name: str
    engine: Engine
    program: tuple[str, ...]
    options: tuple[tuple[Word, ...], ...]
    variables: tuple[Variable, ...]
    settings: Mapping[str, Any]
    gpus: int
    nodes: int
    port: int
    config: str = "eaglecfg.yaml"
    """The name of the file that it is made of."""

    @property
    def words(self) -> tuple[Word, ...]:
        return tuple(word for option in self.options for word in option)

    @property
    def handed(self) -> tuple[str, ...]:
        own = {variable.name for variable in self.variables if variable.text is None}
        return tuple(sorted(own | {word.variable for word in self.words if word.variable}))


def make_launch(
    name: str,
    deployment: Deployment,
    engine: Engine,
    facts: EngineFacts | None,
    *,
    python: str = "python3",
    port: int | None = None,
    host: str | None = None,
    config: str = "eaglecfg.yaml",
) -> Launch:
    """The launch of ``deployment``. Pure. ``port`` overrides the file's, ``host`` fills in where it has none.

    Raises UsageError, with the key, for what no command line or environment can carry.
    """
    settings = _settings(deployment, facts)
    if port is not None:
        settings["port"] = port
    if host is not None:
        settings.setdefault("host", host)
    where = places(settings)
    options = []
    for flag in where:
        if not FLAG.fullmatch(flag):
            raise UsageError(
                f"deployment {name}: {show_path(where[flag])!r} is expected to name a flag of the engine, of "
                "letters, digits, - and _; rename or remove it"
            )
        if group := _option(flag, settings[flag], facts):
            options.append(group)
            _check(name, show_path(where[flag]), *(word.text for word in group))
    world, nodes = _ranks(settings)
    if nodes > 1 and "node_rank" not in settings:
        options.append((Word("--node-rank=", NODE_RANK),))
    return Launch(
        name=name,
        engine=engine,
        program=(python, "-m", MODULE),
        options=tuple(options),
        variables=_variables(name, deployment),
        settings={flag: settings[flag] for flag in where},
        gpus=-(-world // nodes),
        nodes=nodes,
        port=_number(settings.get("port"), DEFAULT_PORT),
        config=config,
    )


def _settings(deployment: Deployment, facts: EngineFacts | None) -> dict[str, Any]:
    """Every flag that is given, numbers as numbers also where the file has them in quotes."""
    out = {}
    for flag, argument in arguments(deployment, facts).items():
        known = facts.flags.get(flag) if facts is not None else None
        out[flag] = as_number(argument.value, known.type if known is not None else "")
    return out


def as_number(value: Any, kind: str) -> Any:
    """``value``, or the number that it spells where the flag's ``kind`` is int or float."""
    if not isinstance(value, str):
        return value
    if kind == "int" and re.fullmatch(r"-?\d{1,18}", value, re.ASCII):
        found = whole(value)
        return value if found is None else found
    if kind == "float" and re.fullmatch(r"-?\d{1,17}(\.\d{1,17})?", value, re.ASCII):
        return float(value)
    return value


def _option(flag: str, value: Any, facts: EngineFacts | None) -> tuple[Word, ...]:
    words = argument_words(flag, value, facts)
    if not words or isinstance(value, bool):
        return tuple(map(Word, words))
    option = words[0].partition("=")[0]
    known = facts.flags.get(flag) if facts is not None else None
    if isinstance(value, list) and len(words) == len(value) + 1 and (known is None or known.type != "json"):
        items = [
            Word("", variable) if _hidden(flag, text, facts, variable) else Word(text)
            for number, text in enumerate(words[1:], 1)
            for variable in [variable_of(flag, number)]
        ]
        return (Word(option), *items)
    text = words[1] if len(words) > 1 else words[0].partition("=")[2]
    if _hidden(flag, text, facts, variable_of(flag)):
        return (Word(f"{option}=", variable_of(flag)),)
    return tuple(map(Word, words))


def _hidden(flag: str, text: str, facts: EngineFacts | None, variable: str) -> bool:
    known = facts.flags.get(flag) if facts is not None else None
    secret = is_secret_flag(flag, known.type if known is not None else "") or is_secret_value(text)
    return bool(text) and (secret or text == handed_on(variable))


def _variables(deployment_name: str, deployment: Deployment) -> tuple[Variable, ...]:
    given = {name: (text, ("env", name)) for name, text in deployment.env.items()}
    given |= {environment_name(key): (text, ("nccl", key)) for key, text in deployment.nccl.items()}
    out = []
    for name, (text, path) in sorted(given.items()):
        if not VARIABLE.fullmatch(name):
            raise UsageError(
                f"deployment {deployment_name}: {show_path(path)} is expected to name a variable of letters, "
                f"digits and _, got {json.dumps(name)}; rename or remove it"
            )
        handed = text == handed_on(name) or (text and (is_secret_name(name) or is_secret_value(text)))
        if not handed:
            _check(deployment_name, show_path(path), text)
        out.append(Variable(name, None if handed else text))
    return tuple(out)


def _check(name: str, where: str, *texts: str) -> None:
    for text in texts:
        found = _IN_NO_PROCESS.search(text)
        if found:
            raise UsageError(
                f"deployment {name}: {where} holds U+{ord(found[0]):04X}, a character that neither a command "
                "line nor an environment can carry; remove it"
            )


def _ranks(settings: Mapping[str, Any]) -> tuple[int, int]:
    """Ranks of all hosts together, and the number of hosts."""
    world = _number(settings.get("tp_size"), 1) * _number(settings.get("pp_size"), 1)
    if not settings.get("enable_dp_attention") and _number(settings.get("attn_dp_size"), 1) == 1:
        world *= _number(settings.get("dp_size"), 1)  # replicas; otherwise groups among the ranks
    return world, _number(settings.get("nnodes"), 1)


def _number(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else otherwise
