"""What a study's launch adds around every setting: whose variables and flags win, and which of them hide
what is searched."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eaglecfg.engines.blocks import BLOCKS, canonical
from eaglecfg.engines.command import environment, environment_name, handed_on
from eaglecfg.record import record
from eaglecfg.rules.study.parts import UNSET, block_entries, entries, setting_of, split_key
from eaglecfg.schema.deployment import Deployment
from eaglecfg.source.secrets import redact_environment

if TYPE_CHECKING:
    from eaglecfg.engines.facts import EngineFacts

OFF = "off"

ASSIGNMENT = re.compile(r"(?:^(?:-[A-Za-z])?|[\s,;=\"'])([A-Za-z_]\w*)=([^\s,;\"']*)")
"""A variable in a word of a command: ``NAME=value``, ``-eNAME=value``, ``--env=NAME=value``,
``--export=ALL,NAME=value``, or in a script for ``sh -c``."""


@record
class Hidden:
    """Something of the launch that stands against a setting. ``at`` is its place below ``launch``, ``what``
    its name and value as a message shows them, ``setter`` who else sets it."""

    at: tuple[str | int, ...]
    what: str
    setter: str


def surrounded(deployment: Deployment, launch_env: Mapping[str, str]) -> Deployment:
    """``deployment`` with the variables of ``launch.env`` around its own, which win: what a study searches is
    what its servers get. Where the deployment hands a variable on (``${NAME}``), the one around it counts."""

    if not launch_env:
        return deployment

    def own(name: str, text: str) -> bool:
        return text != handed_on(name) or name not in launch_env

    env = {name: text for name, text in deployment.env.items() if own(name, text)}
    nccl = {key: text for key, text in deployment.nccl.items() if own(environment_name(key), text)}
    return deployment.model_copy(update={"env": {**launch_env, **env}, "nccl": nccl})


def server_environment(deployment: Deployment, launch_env: Mapping[str, str]) -> dict[str, str]:
    """All variables that a study gives a server of ``deployment``."""
    return environment(surrounded(deployment, launch_env))


def hidden_variables(
    launch_env: Mapping[str, str], prefix: Sequence[str], space: Mapping[str, Any], deployment: Deployment
) -> Iterator[Hidden]:
    """Variables of the launch that the space searches, or that ``deployment`` sets to another value."""
    given: list[tuple[tuple[str | int, ...], str, str]] = []
    given += [(("env", name), name, text) for name, text in launch_env.items()]
    for index, word in enumerate(prefix):
        given += [(("prefix", index), name, text) for name, text in ASSIGNMENT.findall(word)]
    if not given:
        return
    searched, own = _searched_variables(space, deployment), environment(deployment)
    for at, name, text in given:
        keys = [key for key, choices in searched.get(name, {}).items() if any(one != text for one in choices)]
        if keys:
            setter = f"the space searches ({', '.join(keys)})"
        elif name not in searched and own.get(name, text) != text:
            setter = f"the deployment sets to {redact_environment({name: own[name]})[name]}"
        else:
            continue
        yield Hidden(at, f"{name}={redact_environment({name: text})[name]}", setter)


def searched_names(space: Mapping[str, Any], deployment: Deployment) -> frozenset[str]:
    """Variables that some setting of a study may set."""
    return frozenset((*_searched_variables(space, deployment), *environment(deployment)))


def _searched_variables(space: Mapping[str, Any], deployment: Deployment) -> dict[str, dict[str, list[str]]]:
    """Variable -> key of the space -> its choices as text; a range is a choice of its own."""
    found: dict[str, dict[str, list[str]]] = {}
    for key, value in space.items():
        section, name = split_key(key)
        if section not in ("nccl", "env"):
            continue
        if name:
            full = environment_name(name) if section == "nccl" else name
            found.setdefault(full, {}).setdefault(key, []).extend(
                _texts(one for _, one in entries(key, value))
            )
            continue
        blocks = [one for _, one in entries(key, value)]
        unset = any(one in (None, UNSET) for one in blocks)
        inside = [(split_key(one)[1], choice) for one, _, choice in block_entries(key, value)]
        names = [each for each, _ in inside] + (list(deployment.nccl) if unset else [])
        for each in dict.fromkeys(names):
            choices = _texts(choice for other, choice in inside if other == each)
            if unset or any(isinstance(one, dict) and not _names(one, each) for one in blocks):
                choices.append(UNSET)
            found.setdefault(environment_name(each), {})[key] = choices
    return found


def _names(block: Mapping[str, Any], name: str) -> bool:
    return any(split_key(f"nccl.{one}")[1] == name for one in block)


def _texts(choices: Iterable[Any]) -> list[str]:
    return [UNSET if choice is None else str(choice) for choice in choices]


def hidden_flags(
    flags: Sequence[str],
    space: Mapping[str, Any],
    baselines: Sequence[str],
    deployment: Deployment,
    facts: EngineFacts | None,
) -> Iterator[Hidden]:
    """Flags of the launch that the space searches, or that ``deployment`` sets to another value. They come
    last on the command line, and so would win."""
    if not any(word.startswith("--") for word in flags):
        return
    from eaglecfg.engines.arguments import arguments
    from eaglecfg.engines.command import argument_words

    own = arguments(deployment, facts)
    for index, name, words in _flags(flags, facts):
        home = BLOCKS.get(name, ("server", name))
        keys = [key for key, value in space.items() if _searches(key, value, home, words, name, facts)]
        if keys:
            setter = f"the space searches ({', '.join(keys)})"
        elif home[0] in ("speculative", "draft") and OFF in baselines and deployment.speculative != OFF:
            setter = "the baseline off goes without"
        elif name in own and _plain(argument_words(name, own[name].value, facts)) != words:
            text = " ".join(_plain(argument_words(name, own[name].value, facts))) or "off"
            setter = f"the deployment sets to {text}"
        else:
            continue
        option = flags[index].partition("=")[0]
        yield Hidden(("flags", index), " ".join([option, *words]), setter)


def _flags(words: Sequence[str], facts: EngineFacts | None) -> Iterator[tuple[int, str, list[str]]]:
    """(place, canonical name, values) of each option of a command line; a switch has no values."""
    for index, word in enumerate(words):
        if not word.startswith("--"):
            continue
        option, equals, value = word.partition("=")
        values = [value] if equals else []
        for follows in words[index + 1 :]:
            if follows.startswith("--"):
                break
            values.append(follows)
        yield index, canonical(option.lstrip("-").replace("-", "_"), facts), values


def _plain(words: Sequence[str]) -> list[str]:
    """The values of an option in words."""
    head, *rest = words or [""]
    _, equals, value = head.partition("=")
    return [value, *rest] if equals else rest


def _searches(
    key: str, value: Any, home: tuple[str, str], words: list[str], name: str, facts: EngineFacts | None
) -> bool:
    """Whether ``key`` of the space has a choice under which the flag ``name`` is anything but ``words``."""
    section, field = split_key(key)
    choices = [one for _, one in entries(key, value)]
    if not field:
        if section not in ("speculative", "draft") or home[0] not in ("speculative", "draft"):
            return False
        if any(one in (None, UNSET, OFF) for one in choices):
            return True
        if section != home[0]:
            return False
        fields = {split_key(one)[1] for one, _, _ in block_entries(key, value)}
        if "num_steps" in fields:
            fields |= {"num_draft_tokens", "eagle_topk"}  # completed with it
        if home[1] not in fields:
            return False
        inside = [one for full, _, one in block_entries(key, value) if split_key(full)[1] == home[1]]
        return not inside or any(_differs(one, words) for one in inside)
    mine = setting_of(key)
    if mine[0] == "server":
        mine = ("server", canonical(mine[1], facts))
        mine = BLOCKS.get(mine[1], mine)
    return mine == home and any(_differs(one, words) for one in choices)


def _differs(choice: Any, words: list[str]) -> bool:
    if isinstance(choice, bool):
        return choice is not (not words or words == ["true"])
    return [str(choice)] != words
