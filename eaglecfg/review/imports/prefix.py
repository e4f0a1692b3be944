"""The words in front of a server: env, docker run, srun, mpirun and the like."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence

from eaglecfg.record import record
from eaglecfg.review.imports.mounts import Mount, long_form, short_form
from eaglecfg.review.imports.text import Text, guarded, not_known

_ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_CONTAINERS = frozenset(("docker", "podman", "nerdctl", "docker-compose", "podman-compose"))
_SWITCHES = frozenset(
    (
        "-d", "-i", "-t", "-P", "-q", "--detach", "--interactive", "--tty", "--rm", "--privileged", "--init",
        "--publish-all", "--read-only", "--quiet", "--no-healthcheck", "--oom-kill-disable", "--sig-proxy",
        "--disable-content-trust", "--use-api-socket",
    )
)  # fmt: skip
"""Options of docker run that take no value."""

_SHELLS = frozenset(("bash", "sh", "dash", "zsh"))
_SILENT = frozenset(("exec", "nohup", "command", "--", "&"))
"""What changes nothing about a server that it starts."""

_SHORT = re.compile(r"-([ditPq]*)([A-Za-z])(.*)", re.S)
_ELSEWHERE = frozenset(("exec", "compose"))
"""The container is described somewhere else, and so is its environment."""


@record
class Prefix:
    """What stands in front of a server. ``left_out`` are sentences about what the config has no place for,
    ``todo`` those about what decides the launch and is not known."""

    environment: Mapping[str, Text]
    name: str = ""
    image: str = ""
    contained: bool = False
    mounts: tuple[Mount, ...] = ()
    left_out: tuple[str, ...] = ()
    todo: tuple[str, ...] = ()
    unread: str = ""
    """What may set further variables and is not read, empty for nothing."""


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
    return _plain(words, environment, unread)


def _plain(words: Sequence[Text], environment: Mapping[str, Text], unread: str) -> Prefix:
    own = dict(environment)
    others: list[str] = []
    image = ""
    todo: list[str] = []
    at = 0
    while at < len(words):
        text = words[at].text
        program = posixpath.basename(text)
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
        elif text.startswith("--container-image="):
            image = text.partition("=")[2]
        elif text == "--container-image" and after is not None:
            image, at = after.text, at + 1
        elif text.startswith("docker://"):  # singularity, apptainer
            image = text.removeprefix("docker://")
        elif text == "--env" and after is not None and _ASSIGNED.match(after.text):
            for part in after.text.split(","):
                _assign(own, Text(part, after.unknown))
            at += 1
        elif program in _SHELLS:
            while at + 1 < len(words) and words[at + 1].text.startswith("-"):
                at += 1  # its -c or -lc
        elif program == "env":
            at = _env(words, at, own)
        elif program == "sudo":
            at = _sudo(words, at, own)
        elif program in ("su", "runuser"):
            own = {name: _perhaps(value, f"whether {program} keeps it") for name, value in own.items()}
            others.append(text)
        elif program in ("xargs", "parallel"):
            todo.append(f"{program} adds words to the command that are not known here")
        elif program == "ssh":
            own, unread = {}, ""  # the other host has an environment of its own
            others.append(text)
        elif words[at].unknown:
            todo.append(f"{guarded(text)} stands in front of the server and is not known here")
        elif program not in _SILENT:
            others.append(text)
        at += 1
    left = (f"left out: {guarded(' '.join(others))} in front of the server",) if others else ()
    contained = bool(image)
    return Prefix(own, image=image, contained=contained, left_out=left, todo=tuple(todo), unread=unread)


def _env(words: Sequence[Text], at: int, own: dict[str, Text]) -> int:
    """The options of env. Returns the index of the last one."""
    while at + 1 < len(words) and words[at + 1].text.startswith("-"):
        at += 1
        option, equals, name = words[at].text.partition("=")
        if option in ("-i", "-", "--ignore-environment"):
            own.clear()
        elif option in ("-u", "--unset", "-C", "--chdir"):
            if not equals and at + 1 < len(words):
                at += 1
                name = words[at].text
            if option in ("-u", "--unset"):
                own.pop(name, None)
        elif option.startswith("-u"):
            own.pop(option[2:], None)
    return at


def _sudo(words: Sequence[Text], at: int, own: dict[str, Text]) -> int:
    """sudo keeps the environment with -E alone; else its own configuration says which variables."""
    keeps: set[str] = set()
    everything = False
    while at + 1 < len(words) and words[at + 1].text.startswith("-"):
        at += 1
        text = words[at].text
        if text.startswith("--preserve-env="):
            keeps |= set(text.partition("=")[2].split(","))
        elif text in ("--preserve-env", "-E") or re.fullmatch(r"-[A-Za-z]*E[A-Za-z]*", text):
            everything = True
        elif text in ("-u", "-g", "-h", "-p", "-C", "--user", "--group"):
            at += 1
    for name in [] if everything else [name for name in own if name not in keeps]:
        own[name] = _perhaps(own[name], "whether sudo keeps it")
    return at


def _perhaps(value: Text, why: str) -> Text:
    return Text(value.text, (*value.unknown, why))


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
            _hand(own, value, outside.environment)
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
    rest = _plain(words[at:], own, ", ".join(files))
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
            _hand(own, value, {})
        elif not option.startswith("-") and not name:
            name = option
        elif option not in ("-it", "-i", "-t", "--rm", "--command"):
            left.append(f"left out: {words[at].text} of kubectl")
        at += 1
    todo = (
        (*outside.todo, f"what the container of {name} has is not known here") if elsewhere else outside.todo
    )
    rest = _plain(words[at:], own, f"the container of {name}" if elsewhere else "")
    return Prefix(
        rest.environment,
        name,
        image,
        contained=True,
        left_out=(*left, *rest.left_out),
        todo=(*todo, *rest.todo),
        unread=rest.unread,
    )


def _assign(environment: dict[str, Text], word: Text) -> None:
    name, _, value = word.text.partition("=")
    environment[name] = Text(value, word.unknown)


def _hand(environment: dict[str, Text], word: Text, outside: Mapping[str, Text]) -> None:
    """``NAME=VALUE``, or ``NAME`` alone, which hands on a variable of the outside."""
    if _ASSIGNED.match(word.text):
        _assign(environment, word)
    elif word.text.isidentifier():
        environment[word.text] = outside.get(word.text, not_known(word.text))
