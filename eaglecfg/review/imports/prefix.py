"""The words in front of a server: env, docker run, srun, mpirun and the like."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence

from eaglecfg.record import record
from eaglecfg.review.imports.mounts import Mount, long_form, short_form
from eaglecfg.review.imports.text import Text, not_known

_ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_CONTAINERS = frozenset(("docker", "podman", "nerdctl"))
_SWITCHES = frozenset(
    (
        "-d", "-i", "-t", "-P", "-q", "--detach", "--interactive", "--tty", "--rm", "--privileged", "--init",
        "--publish-all", "--read-only", "--quiet", "--no-healthcheck", "--oom-kill-disable", "--sig-proxy",
        "--disable-content-trust", "--use-api-socket",
    )
)  # fmt: skip
"""Options of docker run that take no value."""

_SHELLS = frozenset(("bash", "sh", "dash", "zsh"))
_SILENT = frozenset(("exec", "nohup", "env", "sudo", "command", "--", "&"))
"""What changes nothing about a server that it starts."""


@record
class Prefix:
    """What stands in front of a server. ``left_out`` are sentences about what the config has no place for."""

    environment: Mapping[str, Text]
    name: str = ""
    image: str = ""
    contained: bool = False
    mounts: tuple[Mount, ...] = ()
    left_out: tuple[str, ...] = ()


def read_prefix(words: Sequence[Text], environment: Mapping[str, Text]) -> Prefix:
    """What ``words`` make of a launch whose shell has ``environment``."""
    for index, word in enumerate(words):
        if posixpath.basename(word.text) in _CONTAINERS:
            inner = [one.text for one in words[index + 1 :]]
            for verb in ("run", "exec", "create"):
                if verb in inner[:3]:
                    outside = read_prefix(words[:index], environment)
                    return _container(words[index + 2 + inner.index(verb) :], outside)
    return _plain(words, environment)


def _plain(words: Sequence[Text], environment: Mapping[str, Text]) -> Prefix:
    own = dict(environment)
    others: list[str] = []
    at = 0
    while at < len(words):
        text = words[at].text
        after = words[at + 1] if at + 1 < len(words) else None
        if _ASSIGNED.match(text):
            _assign(own, words[at])
        elif text == "-x" and after is not None:  # mpirun
            _hand(own, after, environment)
            at += 1
        elif text.startswith("--export="):  # srun
            for part in text.removeprefix("--export=").split(","):
                if _ASSIGNED.match(part):
                    _assign(own, Text(part, words[at].unknown))
        elif posixpath.basename(text) in _SHELLS:
            while at + 1 < len(words) and words[at + 1].text.startswith("-"):
                at += 1  # its -c or -lc
        elif posixpath.basename(text) not in _SILENT:
            others.append(text)
        at += 1
    left = (f"left out: {' '.join(others)} in front of the server",) if others else ()
    return Prefix(own, left_out=left)


def _container(words: Sequence[Text], outside: Prefix) -> Prefix:
    own: dict[str, Text] = {}
    left = list(outside.left_out)
    mounts: list[Mount | None] = []
    name = image = ""
    at = 0
    while at < len(words):
        text = words[at].text
        at += 1
        if not text.startswith("-"):
            image = text
            break
        option, equals, inline = text.partition("=")
        if option in _SWITCHES or re.fullmatch(r"-[ditPq]+", option):
            continue
        value = Text(inline, words[at - 1].unknown) if equals else Text("")
        if not equals and at < len(words):
            if re.match(r"-[evpuwhl].", option) and not option.startswith("--"):
                value = Text(option[2:], words[at - 1].unknown)
                option = option[:2]
            else:
                value = words[at]
                at += 1
        if option in ("-e", "--env"):
            _hand(own, value, outside.environment)
        elif option == "--name":
            name = value.text
        elif option == "--env-file":
            left.append(f"{value.text} is not read: variables that it sets are not known here")
        else:
            if option in ("-v", "--volume", "--mount"):
                mounts.append(long_form(value.text) if option == "--mount" else short_form(value.text))
            left.append(f"left out: {option} {value.text} of the container")
    rest = _plain(words[at:], own)
    known = tuple(mount for mount in mounts if mount is not None)
    return Prefix(rest.environment, name, image, True, known, (*left, *rest.left_out))


def _assign(environment: dict[str, Text], word: Text) -> None:
    name, _, value = word.text.partition("=")
    environment[name] = Text(value, word.unknown)


def _hand(environment: dict[str, Text], word: Text, outside: Mapping[str, Text]) -> None:
    """``NAME=VALUE``, or ``NAME`` alone, which hands on a variable of the outside."""
    if _ASSIGNED.match(word.text):
        _assign(environment, word)
    elif word.text.isidentifier():
        environment[word.text] = outside.get(word.text, not_known(word.text))
