"""What decides the engine's version beside an image's tag: installs, environments, sources on the path."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

from eaglecfg.errors import UsageError
from eaglecfg.record import record, replace
from eaglecfg.review.imports.commands import Command
from eaglecfg.review.imports.mounts import Mount
from eaglecfg.review.imports.requirements import Package, asked_for
from eaglecfg.review.imports.shell_script import follow
from eaglecfg.review.imports.shell_state import State
from eaglecfg.review.imports.text import Text, guarded

_INSTALLERS = re.compile(r"(?:pip|pipx|uv|uvx|poetry|pdm|rye|conda|mamba|micromamba|pixi|hatch)[\d.]*")
MAY_INSTALL = re.compile(
    r"sglang|\b(?:git|pip|uv|conda|mamba|micromamba|poetry|pdm|pixi|rye)[\d.]*\s|\.(?:sh|bash)\b"
)
"""A first look at a text: what it does not find installs no engine."""

_IN_FRONT = re.compile(
    r"(?:.*/)?(?:sudo|env|exec|command|time|nohup|python[\d.]*|timeout|nice|stdbuf|retry)"
    r"|-[^\s]*|\d+[smh]?|[A-Za-z_]\w*=.*",
    re.S,
)
_CHANGES = frozenset(
    (
        "install", "uninstall", "add", "remove", "sync", "update", "upgrade", "create", "inject",
        "reinstall", "--with", "--from", "--spec", "--with-editable", "--with-requirements",
    )
)  # fmt: skip
_BY_FILE = frozenset(
    (
        "uv sync", "uv pip sync", "poetry install", "poetry update", "poetry sync", "pdm sync", "pdm install",
        "pdm update", "rye sync", "pixi install", "pixi update", "conda env create", "conda env update",
        "mamba env create", "mamba env update", "micromamba env create", "micromamba env update",
    )
)  # fmt: skip
"""They install what a file says that is not read here."""

_RUNNERS = frozenset(
    ("uv", "uvx", "pipx", "poetry", "pdm", "rye", "conda", "mamba", "micromamba", "pixi", "hatch")
)
_SHELLS = frozenset(("bash", "sh", "dash", "zsh", "ksh"))
_INSTALLING = re.compile(r".*(?:install|setup|upgrade|update|bootstrap|provision)[^/]*\.(?:sh|bash)", re.I)
_CONTAINERS = frozenset(("docker", "podman", "nerdctl", "kubectl", "docker-compose", "podman-compose"))
_GIT_CHANGES = frozenset(
    ("checkout", "switch", "pull", "reset", "merge", "rebase", "apply", "cherry-pick", "am", "restore")
)
_SOURCE = re.compile(r"sglang(?![-_.]?(?:router|kernel|jax))", re.I)
_SOURCES = re.compile(r"(?:.*/)?python/?")
"""The folder of a checkout of the engine in which its package lies."""

_OVER_THE_ENGINE = re.compile(
    r"/sgl-workspace(?:/sglang.*)?/?|.*/(?:site|dist)-packages(?:/sglang.*)?/?|.*/python/sglang/?"
)
ELSEWHERE = "perhaps into another environment,"
CONDITION = "under a condition"
LONGEST = 100


@record
class Pin:
    """``version``, which ``text`` asks for; empty where ``text`` decides it and does not say it.

    ``doubt`` says why it is not certain that the server runs it; ``place`` is the folder of the Python that
    it is installed for, empty where nothing tells. ``package`` is what it is a version of.
    """

    version: str
    text: str
    doubt: str = ""
    place: str = ""
    package: Package = "engine"

    @property
    def shown(self) -> str:
        return f"{self.text}{',' if self.doubt == ELSEWHERE else ''}{' ' if self.doubt else ''}{self.doubt}"


def of_package(pins: Sequence[Pin], package: Package) -> tuple[Pin, ...]:
    """Those of the pins that are about ``package``."""
    return tuple(pin for pin in pins if pin.package == package)


def version_of(pins: Sequence[Pin]) -> str:
    """The version that runs behind ``pins``, in their order; empty where they leave it open."""
    certain = [at for at, pin in enumerate(pins) if pin.version and not pin.doubt]
    if not certain or len({pin.version for pin in pins if pin.version}) > 1:
        return ""
    return pins[certain[-1]].version if all(pin.version for pin in pins[certain[-1] :]) else ""


def deciding(pins: Sequence[Pin]) -> str:
    """What decides the version, in words."""
    texts = list(dict.fromkeys(pin.text for pin in pins))
    if len(texts) == 1:
        return f"{pins[-1].shown} decides"
    return f"{' or '.join(texts[-3:])} decides"


def before(
    commands: Sequence[Command], pins: tuple[Pin, ...] = ()
) -> Iterator[tuple[Command, tuple[Pin, ...]]]:
    """Each command with the pins in front of it; ``pins`` stand in front of all."""
    for command in commands:
        yield command, pins
        if _changes_environment([word.text for word in command.words]):
            pins = tuple(replace(pin, doubt=pin.doubt or ELSEWHERE) for pin in pins)
        pins = (*pins, *pins_of_command(command))


def pins_of_command(command: Command, folder: str = "") -> tuple[Pin, ...]:
    """The versions that a command installs, also as ``sh -c "pip install ..."``, by default in ``folder``."""
    own = pins_of(command.words, certain=command.certain, folder=command.folder or folder)
    return (*own, *_of_inner_script(command))


def _of_inner_script(command: Command) -> tuple[Pin, ...]:
    words = command.words
    at = next((at for at, word in enumerate(words) if not _IN_FRONT.fullmatch(word.text)), len(words))
    if at + 2 >= len(words) or posixpath.basename(words[at].text) not in _SHELLS:
        return ()
    option = next(
        (each for each in range(at + 1, len(words) - 1) if re.fullmatch("-[a-z]*c", words[each].text)), 0
    )
    if not option or not MAY_INSTALL.search(words[option + 1].text):
        return ()
    state = State(dict(command.environment), set(command.environment))
    doubt = "" if command.certain else CONDITION
    try:
        inner = follow(state.outer.taken(words[option + 1]), state, 1, command.line).commands
    except UsageError:
        return (Pin("", _shown([word.text for word in words]), doubt),)
    found: tuple[Pin, ...] = ()
    for each in inner:
        found = (*found, *pins_of(each.words, certain=each.certain, folder=each.folder))
    return tuple(replace(pin, doubt=pin.doubt or doubt) for pin in found)


def _changes_environment(texts: Sequence[str]) -> bool:
    """Whether what follows runs in another Python than what stood before."""
    name = posixpath.basename(texts[0])
    if name in ("source", "."):
        return posixpath.basename(texts[1] if len(texts) > 1 else "") == "activate"
    return name in ("deactivate", "workon", "pyenv") or (
        name in ("conda", "mamba", "micromamba") and "activate" in texts[1:3]
    )


def pins_of(words: Sequence[Text], *, certain: bool = True, folder: str = "") -> tuple[Pin, ...]:
    """The versions that a command installs: ``pip install 'sglang[all]==0.5.12'`` and the like.

    ``folder`` is where the script has gone, as it is spelled.
    """
    words = [part for word in words for part in _parts(word)]
    texts = [word.text for word in words]
    start = 0
    while start < len(texts) and _IN_FRONT.fullmatch(texts[start]):
        start += 1
    if start == len(texts):
        return ()
    name = posixpath.basename(texts[start])
    doubt = "" if certain else CONDITION
    if name == "git":
        about = any(_SOURCE.search(text) for text in (folder, *texts[start:]))
        changes = about and _GIT_CHANGES & set(texts[start + 1 :])
        return (Pin("", _shown(texts[start:]), doubt),) if changes else ()
    if name == "module" and any(_SOURCE.match(text) for text in texts[start + 1 :]):
        return (Pin("", _shown(texts[start:]), doubt),)
    adds = name in ("xargs", "parallel") and any(_INSTALLERS.fullmatch(text) for text in texts[start + 1 :])
    if adds or _is_installing_script(texts[start:]):
        return (Pin("", _shown(texts[start:]), doubt),)
    if not _INSTALLERS.fullmatch(name) or "--dry-run" in texts:
        return ()
    program = next((text for text in texts[start::-1] if "/" in text), "")
    return _installed(words[start:], doubt, posixpath.dirname(program))


def _is_installing_script(texts: Sequence[str]) -> bool:
    """Whether a script is started that is not read here, and whose name says that it installs something."""
    named = texts[1:2] if posixpath.basename(texts[0]) in _SHELLS else texts[:1]
    return any(_INSTALLING.fullmatch(text) for text in named)


def _parts(word: Text) -> tuple[Text, ...]:
    return (Text("-m"), Text(word.text[2:])) if word.text.startswith("-mpip") else (word,)


def _installed(words: Sequence[Text], doubt: str, place: str) -> tuple[Pin, ...]:
    texts = [word.text for word in words]
    plain = [posixpath.basename(texts[0]), *(text for text in texts[1:] if not text.startswith("-"))]
    if plain[0] in ("conda", "mamba", "micromamba") and plain[1:2] == ["run"]:
        inner = next((at for at in range(2, len(texts)) if _INSTALLERS.fullmatch(texts[at])), 0)
        return _installed(words[inner:], doubt or ELSEWHERE, place) if inner else ()
    if any(" ".join(plain).startswith(each) for each in _BY_FILE):
        return (Pin("", _shown(texts), doubt, place),)
    verb = next((at for at, text in enumerate(texts) if text.partition("=")[0] in _CHANGES), 0)
    if not verb:
        return ()
    asked = asked_for(words[1:], conda=plain[0] in ("conda", "mamba", "micromamba", "pixi"))
    if asked.place == "?":
        doubt = doubt or ELSEWHERE
    elif asked.place:
        place = asked.place
    gone = bool({"uninstall", "remove"} & set(texts))
    front = " ".join((texts[0], *(text for text in texts[1 : verb + 1] if text in ("pip", "run", "tool"))))
    front += f" {texts[verb].partition('=')[0]}"
    # What is asked for by name counts whatever else the same command brings.
    return tuple(
        Pin(one.version, f"{front} {one.text}", doubt, place, one.package)
        if one.version and not gone
        else Pin("", _shown(texts), doubt, place, one.package)
        for one in sorted(asked.found, key=lambda one: one.package == "nccl")
    )


def of_launch(front: Sequence[Text], pins: Sequence[Pin], program: str, folder: str = "") -> tuple[Pin, ...]:
    """What decides the version that ``program`` behind ``front`` runs; ``pins`` were installed before.

    ``folder`` is where it is started: ``python -m`` looks there first.
    """
    own: list[Pin] = []
    begin = max(
        (at for at, word in enumerate(front) if posixpath.basename(word.text) in _CONTAINERS), default=0
    )
    for at, word in enumerate(front):
        if at < begin:
            continue  # it starts the container, and not what is in it
        name = posixpath.basename(word.text)
        if name not in _RUNNERS or posixpath.basename(front[at - 1].text) == "-m":
            continue
        found = pins_of(front[at:])
        own += found
        texts = [each.text for each in front[at:]]
        same = name in ("uv", "uvx") and all(pin.text.startswith("uv ") for pin in pins)
        if not of_package(found, "engine") and "run" in texts[1:3] and not same:
            own.append(Pin("", _shown(texts)))
    if version_of(of_package(own, "engine")):
        earlier = of_package(pins, "nccl")
        return (*(replace(pin, doubt=pin.doubt or ELSEWHERE) for pin in earlier), *own)
    here = posixpath.dirname(program)
    if _SOURCES.fullmatch(folder) and not _OVER_THE_ENGINE.fullmatch(folder):
        own.append(Pin("", f"the folder {guarded(folder)}"))
    return (*(_into(pin, here) for pin in pins), *own)


def _into(pin: Pin, here: str) -> Pin:
    """The pin as the Python in the folder ``here`` sees it."""
    if pin.doubt or not here or posixpath.normpath(here) == posixpath.normpath(pin.place or "."):
        return pin
    usual = here in ("/usr/bin", "/bin", "/usr/local/bin") and not pin.place
    return pin if usual else replace(pin, doubt=ELSEWHERE)


def sources(environment: Mapping[str, Text], mounts: Sequence[Mount]) -> tuple[Pin, ...]:
    """Sources of the engine that stand in front of the one that is installed."""
    path = environment.get("PYTHONPATH")
    about = path is not None and any(
        _SOURCE.search(each) or _SOURCES.fullmatch(each) for each in path.text.split(":")
    )
    found = [Pin("", f"PYTHONPATH={guarded(path.text)}")] if path is not None and about else []
    found += [
        Pin("", f"the mount {guarded(mount.host)}:{mount.inside}")
        for mount in mounts
        if over_the_engine(mount.inside)
    ]
    return tuple(found)


def over_the_engine(folder: str) -> bool:
    """Whether what is put into ``folder`` of a container replaces the engine that is installed there."""
    return _OVER_THE_ENGINE.fullmatch(folder) is not None


def _shown(texts: Sequence[str]) -> str:
    text = guarded(" ".join(texts))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
