"""The words in front of a server: docker run, kubectl run, and what stands before or behind them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence

from eaglecfg.review.imports.mounts import Mount, long_form, short_form
from eaglecfg.review.imports.plain_prefix import Prefix, hand, read_plain
from eaglecfg.review.imports.text import Text, guarded

_CONTAINERS = frozenset(("docker", "podman", "nerdctl", "docker-compose", "podman-compose"))
_SWITCHES = frozenset(
    (
        "-d", "-i", "-t", "-P", "-q", "--detach", "--interactive", "--tty", "--rm", "--privileged", "--init",
        "--publish-all", "--read-only", "--quiet", "--no-healthcheck", "--oom-kill-disable", "--sig-proxy",
        "--disable-content-trust", "--use-api-socket",
    )
)  # fmt: skip
"""Options of docker run that take no value."""

_SHORT = re.compile(r"-([ditPq]*)([A-Za-z])(.*)", re.S)
_ELSEWHERE = frozenset(("exec", "compose"))
"""The container is described somewhere else, and so is its environment."""


def read_prefix(words: Sequence[Text], environment: Mapping[str, Text], unread: str = "") -> Prefix:
    """What ``words`` make of a launch whose shell has ``environment``, and more from ``unread``."""
    for index, word in enumerate(words):
        program = posixpath.basename(word.text)
        inner = [one.text for one in words[index + 1 :]]
        if program in _CONTAINERS:
            for verb in ("run", "exec", "create"):
                if verb in inner[:3]:
                    outside = read_prefix(words[:index], environment)
                    elsewhere = program.endswith("-compose") or bool(
                        _ELSEWHERE & set(inner[: inner.index(verb) + 1])
                    )
                    rest = words[index + 2 + inner.index(verb) :]
                    return _container(rest, outside, elsewhere=elsewhere)
        if program == "kubectl" and inner[:1] in (["run"], ["exec"]):
            outside = read_prefix(words[:index], environment)
            return _pod(words[index + 2 :], outside, elsewhere=inner[0] == "exec")
    return read_plain(words, environment, unread)


def _container(words: Sequence[Text], outside: Prefix, *, elsewhere: bool) -> Prefix:
    own: dict[str, Text] = {}
    left = list(outside.left_out)
    todo = list(outside.todo)
    files: list[str] = []
    mounts: list[Mount | None] = []
    name = image = guess = ""
    at = 0
    while at < len(words):
        text, unknown = words[at].text, words[at].unknown
        at += 1
        if unknown and not text.startswith("-"):
            if any(not word.text.startswith("-") and not word.unknown for word in words[at:]):
                todo.append(f"{guarded(text)} may hold options of the container, and variables of the server")
                guess = guess or text
                continue
            image = text
            break
        if not text.startswith("-"):
            image = text
            break
        option, value, at = _option(words, at)
        if option in ("-e", "--env"):
            if value.unknown and "=" not in value.text:
                todo.append(f"{guarded(value.text)} names variables of the container that are not known here")
            hand(own, value, outside.environment)
        elif option == "--name":
            name = "" if value.unknown else value.text
        elif option == "--env-file":
            todo.append(f"{value.text} is not read: the variables that it sets are not known here")
            files.append(guarded(value.text))
        elif option not in _SWITCHES:
            if option in ("-v", "--volume", "--mount"):
                mounts.append(long_form(value.text) if option == "--mount" else short_form(value.text))
            left.append(f"left out: {guarded(f'{option} {value.text}')} of the container")
    if elsewhere:
        todo.append(f"what the container {image} has in its environment is not known here")
        files.append(f"the container {image}")
    rest = read_plain(words[at:], own, ", ".join(files))
    return Prefix(
        rest.environment,
        name,
        image or guess,
        contained=True,
        mounts=tuple(mount for mount in mounts if mount is not None),
        left_out=(*left, *rest.left_out),
        todo=(*todo, *rest.todo),
        unread=rest.unread,
    )


def _option(words: Sequence[Text], at: int) -> tuple[str, Text, int]:
    """(option, its value, where the next one begins) of the option in front of ``at``."""
    word = words[at - 1]
    text = word.text
    if text.startswith("--"):
        option, equals, inline = text.partition("=")
        if equals or option in _SWITCHES:
            return option, Text(inline, word.unknown), at
    else:
        found = _SHORT.fullmatch(text)
        if found is None or f"-{found[2]}" in _SWITCHES:
            return "-d", Text(""), at  # switches alone
        option = f"-{found[2]}"
        if found[3]:
            return option, Text(found[3].removeprefix("="), word.unknown), at
    return (option, words[at], at + 1) if at < len(words) else (option, Text(""), at)


def _pod(words: Sequence[Text], outside: Prefix, *, elsewhere: bool) -> Prefix:
    """What ``kubectl run`` and ``kubectl exec`` make of it."""
    own: dict[str, Text] = {}
    left: list[str] = list(outside.left_out)
    name = image = ""
    at = 0
    while at < len(words) and words[at].text != "--":
        option, equals, inline = words[at].text.partition("=")
        value = Text(inline, words[at].unknown)
        if option in ("--image", "--env", "-n", "--namespace") and not equals and at + 1 < len(words):
            at += 1
            value = words[at]
        if option == "--image":
            image = value.text
        elif option == "--env":
            hand(own, value, {})
        elif not option.startswith("-") and not name:
            name = option
        elif option not in ("-it", "-i", "-t", "--rm", "--command"):
            left.append(f"left out: {words[at].text} of kubectl")
        at += 1
    todo = (
        (*outside.todo, f"what the container of {name} has is not known here") if elsewhere else outside.todo
    )
    rest = read_plain(words[at:], own, f"the container of {name}" if elsewhere else "")
    return Prefix(
        rest.environment,
        name,
        image,
        contained=True,
        left_out=(*left, *rest.left_out),
        todo=(*todo, *rest.todo),
        unread=rest.unread,
    )
