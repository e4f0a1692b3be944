"""Programs in front of a server that start it as it stands, and what each does to its environment."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence

from eaglecfg.record import record
from eaglecfg.review.imports.mounts import Mount
from eaglecfg.review.imports.remote import REMOTE, start_of_remote
from eaglecfg.review.imports.slurm import EXPORT_ENV, STEP_EXPORT_ENV, exported
from eaglecfg.review.imports.text import Text, behind, guarded, not_known

ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_MAY_BE_VARIABLE = re.compile(r"(?:-\w|--[\w-]+=)?[A-Z_][A-Z0-9_]*=")
"""Names that people give variables, where nothing says what a program does with them."""

_SHELLS = frozenset(("bash", "sh", "dash", "zsh"))
_SILENT = frozenset(("exec", "nohup", "command", "--", "&"))
"""What changes nothing about a server that it starts."""

_RUNNERS = frozenset(
    ("uv", "uvx", "pipx", "poetry", "pdm", "rye", "conda", "mamba", "micromamba", "pixi", "hatch")
)
_RUNNERS_VALUES = frozenset(
    (
        "--with", "--with-editable", "--with-requirements", "--from", "--spec", "--extra", "--group", "-p",
        "--only-group", "--no-group", "--python", "--project", "--directory", "--package", "-i", "-f",
        "--index-url", "--extra-index-url", "--index", "--default-index", "--find-links", "--cache-dir",
        "--pip-args", "-n", "--name", "--prefix", "--cwd", "--prerelease", "--resolution", "--link-mode",
        "--index-strategy", "-e", "--environment", "--manifest-path", "--config-file", "-c", "--constraints",
    )
)  # fmt: skip
_MPI = frozenset(("mpirun", "mpiexec", "orterun", "prun", "mpiexec.hydra", "prterun"))
_APPTAINER = frozenset(("singularity", "apptainer"))
_CLEAN = frozenset(("--cleanenv", "-e", "--containall", "-C", "--contain-all"))
_USERS = frozenset(("su", "runuser", "doas", "pkexec", "tmux"))
"""Their own configuration, or a server of theirs, says which variables the command gets."""

_SETS = frozenset(
    (
        "dotenv",
        "op",
        "doppler",
        "infisical",
        "chamber",
        "direnv",
        "envdir",
        "aws-vault",
        "teller",
        "sops",
        "vault",
    )
)
"""They start the command with variables that they read from elsewhere."""


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
    remote: bool = False
    """It runs on another host."""
    unread: str = ""
    """What may set further variables and is not read, empty for nothing."""


def read_plain(words: Sequence[Text], environment: Mapping[str, Text], unread: str) -> Prefix:
    """What ``words``, which start no container by an engine of its own, make of ``environment``."""
    return _Walk(words, environment, unread).read()


class _Walk:
    """Goes over the words once. ``program`` is the last one whose options are known here."""

    def __init__(self, words: Sequence[Text], environment: Mapping[str, Text], unread: str) -> None:
        self.words = words
        self.outside = environment
        self.own = dict(environment)
        self.unread = unread
        self.others: list[str] = []
        self.told: list[str] = []
        self.todo: list[str] = []
        self.image = ""
        self.remote = False
        self.program = ""
        self.takes_variables = True
        """``NAME=VALUE`` is a variable here, as behind env, and no word of another program."""
        self.at = 0

    def read(self) -> Prefix:
        while self.at < len(self.words):
            self._word(self.words[self.at])
            self.at += 1
        if self.others:
            self.told.append(f"left out: {guarded(' '.join(self.others))} in front of the server")
        for name in (EXPORT_ENV, STEP_EXPORT_ENV):
            self.own.pop(name, None)
        return Prefix(
            self.own,
            image=self.image,
            contained=bool(self.image),
            left_out=tuple(self.told),
            todo=tuple(self.todo),
            remote=self.remote,
            unread=self.unread,
        )

    def _word(self, word: Text) -> None:
        text = word.text
        program = posixpath.basename(text)
        if ASSIGNED.match(text) and self.takes_variables:
            assign(self.own, word)
            return
        if text.startswith("-") and self._option(word):
            return
        if text.startswith("docker://") and self.program == "apptainer":
            self.image = text.removeprefix("docker://")
            return
        if program in _SHELLS:
            while self._next().startswith("-"):
                self.at += 1  # its -c or -lc
        elif start := self._programs(program):
            start(text)
        elif word.unknown:
            self.todo.append(f"{guarded(text)} stands in front of the server and is not known here")
        elif program not in _SILENT:
            self._other(text)
        if text not in _SILENT and not text.startswith("-"):
            self.takes_variables = program in ("env", "sudo") or (self.takes_variables and self.remote)

    def _programs(self, program: str) -> Callable[[str], None] | None:
        """What the program does to the environment of the command that it starts; None where nothing."""
        if program in REMOTE:
            return self._remote
        if program in _USERS:
            return self._user
        if program in _SETS:
            return self._sets
        kinds = {**dict.fromkeys(_MPI, "mpi"), **dict.fromkeys(_APPTAINER, "apptainer")}
        kinds |= {**dict.fromkeys(_RUNNERS, "runner"), "systemd-run": "systemd-run"}
        if program in kinds and not self._is_module():
            return lambda text: self._known(kinds[program], text)
        return {
            "env": self._env,
            "sudo": self._sudo,
            "srun": self._slurm,
            "sbatch": self._slurm,
            "salloc": self._slurm,
            "xargs": self._adds,
            "parallel": self._adds,
        }.get(program)

    def _is_module(self) -> bool:
        return self.at > 0 and self.words[self.at - 1].text == "-m"

    def _next(self) -> str:
        return self.words[self.at + 1].text if self.at + 1 < len(self.words) else ""

    def _other(self, text: str) -> None:
        """A word that has no place in a config; it is told, and more where it may set a variable."""
        if _MAY_BE_VARIABLE.match(text):
            self.todo.append(
                f"{guarded(text)} in front of the server: whether it sets a variable is not known"
            )
        else:
            self.others.append(text)

    def _value(self, word: Text, *names: str) -> Text | None:
        """The value of one of the options ``names``, its own word taken; None for another option."""
        option, equals, _ = word.text.partition("=")
        if option not in names:
            return None
        if equals:
            return behind(word, "=")
        self.at += 1
        return self.words[self.at] if self.at < len(self.words) else Text("")

    def _option(self, word: Text) -> bool:
        """Take an option that says something about the environment. Whether it was one."""
        taken = {
            "mpi": self._of_mpi,
            "slurm": self._of_slurm,
            "apptainer": self._of_apptainer,
            "runner": self._of_runner,
            "systemd-run": self._of_systemd_run,
            "tmux": self._of_tmux,
        }.get(self.program)
        return taken is not None and taken(word)

    def _known(self, kind: str, text: str) -> None:
        self.program = kind
        self._other(text)
        texts = [each.text for each in self.words[self.at :]]
        if kind == "apptainer":
            names = {name: name.partition("ENV_")[2] for name in self.own if name.startswith(_FOR_APPTAINER)}
            handed = {inner: self.own.pop(name) for name, inner in names.items()}
            self.own = handed if _CLEAN & set(texts) else self.own | handed
        elif kind == "systemd-run" and "--scope" not in texts:
            self._kept_out("systemd-run without --scope", {})

    def _of_mpi(self, word: Text) -> bool:
        if word.text in ("-genv", "-env") and self.at + 2 < len(self.words):
            self.own[self._next()] = self.words[self.at + 2]
            self.at += 2
            return True
        for option, separator in (("-x", "\n"), ("-genvlist", ","), ("-envlist", ",")):
            value = self._value(word, option)
            for part in value.text.split(separator) if value is not None else ():
                hand(self.own, Text(part, value.unknown if value else ()), self.outside)
            if value is not None:
                return True
        return False

    def _of_slurm(self, word: Text) -> bool:
        if self._value(word, "--export") is not None:
            return True  # it is taken with srun itself
        image = self._value(word, "--container-image")
        if image is not None:
            self.image = image.text
        return image is not None

    def _of_apptainer(self, word: Text) -> bool:
        variables = self._value(word, "--env")
        if variables is not None:
            for part in re.split(r",(?=[A-Za-z_]\w*=)", variables.text):
                if ASSIGNED.match(part):
                    assign(self.own, Text(part, variables.unknown))
            return True
        return self._file(self._value(word, "--env-file"))

    def _of_runner(self, word: Text) -> bool:
        if self._file(self._value(word, "--env-file")):
            return True
        if word.text in _RUNNERS_VALUES:
            self.others += [word.text, self._next()]
            self.at += 1
            return True
        return False

    def _of_systemd_run(self, word: Text) -> bool:
        given = self._value(word, "-E", "--setenv")
        if given is not None:
            hand(self.own, given, self.outside)
            return True
        setting = self._value(word, "-p", "--property")
        if setting is None:
            return False
        name, _, value = setting.text.partition("=")
        if name == "Environment" and ASSIGNED.match(value):
            assign(self.own, Text(value, setting.unknown))
        elif name == "EnvironmentFile":
            self._file(Text(value))
        else:
            self.others += ["-p", setting.text]
        return True

    def _of_tmux(self, word: Text) -> bool:
        value = self._value(word, "-e")
        if value is not None and ASSIGNED.match(value.text):
            assign(self.own, value)
        return value is not None

    def _file(self, value: Text | None) -> bool:
        if value is None:
            return False
        shown = guarded(value.text.removeprefix("-"))
        self.todo.append(f"{shown} is not read: the variables that it sets are not known here")
        self.unread = f"{self.unread}, {shown}" if self.unread else shown
        return True

    def _env(self, text: str) -> None:
        """The options of env."""
        while self._next().startswith("-"):
            self.at += 1
            option, equals, name = self.words[self.at].text.partition("=")
            if option in ("-i", "-", "--ignore-environment"):
                self.own.clear()
            elif option in ("-u", "--unset", "-C", "--chdir"):
                if not equals and self._next():
                    self.at += 1
                    name = self.words[self.at].text
                if option in ("-u", "--unset"):
                    self.own.pop(name, None)
            elif option.startswith("-u"):
                self.own.pop(option[2:], None)

    def _sudo(self, text: str) -> None:
        """sudo keeps the environment with -E alone; else its own configuration says which variables."""
        keeps: set[str] = set()
        everything = False
        while self._next().startswith("-"):
            self.at += 1
            text = self.words[self.at].text
            if text.startswith("--preserve-env="):
                keeps |= set(text.partition("=")[2].split(","))
            elif text in ("--preserve-env", "-E") or re.fullmatch(r"-[A-Za-z]*E[A-Za-z]*", text):
                everything = True
            elif text in ("-u", "-g", "-h", "-p", "-C", "--user", "--group"):
                self.at += 1
        for name in [] if everything else [name for name in self.own if name not in keeps]:
            self.own[name] = _perhaps(self.own[name], "whether sudo keeps it")

    def _user(self, text: str) -> None:
        name = posixpath.basename(text)
        self.program = name
        self.own = {key: _perhaps(value, f"whether {name} keeps it") for key, value in self.own.items()}
        self.others.append(text)

    def _sets(self, text: str) -> None:
        name = posixpath.basename(text)
        self.todo.append(f"{name} sets variables of the server that are not known here")
        self.unread = f"{self.unread}, {name}" if self.unread else name
        self.others.append(text)

    def _adds(self, text: str) -> None:
        self.todo.append(f"{posixpath.basename(text)} adds words to the command that are not known here")

    def _remote(self, text: str) -> None:
        """The other host has an environment of its own."""
        self.own, self.unread, self.remote = {}, "", True
        begin = start_of_remote(self.words, self.at)
        self.others += [each.text for each in self.words[self.at : begin]]
        self.at = begin - 1
        self.takes_variables = True

    def _slurm(self, text: str) -> None:
        self.program = "slurm"
        self.others.append(text)
        spec = self.own.get(STEP_EXPORT_ENV, self.own.get(EXPORT_ENV))
        for at, word in enumerate(self.words[self.at + 1 :], self.at + 1):
            option, equals, _ = word.text.partition("=")
            if option == "--export" and (equals or at + 1 < len(self.words)):
                spec = behind(word, "=") if equals else self.words[at + 1]
        if spec is None:
            return
        kept = exported(spec, self.own)
        if kept is None:
            shown = f"{posixpath.basename(text)} --export={guarded(spec.text)}"
            self.todo.append(f"which variables {shown} hands on is not known here")
            why = f"whether {posixpath.basename(text)} hands it on"
            self.own = {key: _perhaps(value, why) for key, value in self.own.items()}
        else:
            self._kept_out(f"{posixpath.basename(text)} --export={guarded(spec.text)}", kept)

    def _kept_out(self, who: str, kept: dict[str, Text]) -> None:
        """The environment becomes ``kept``, and what is lost is told."""
        lost = sorted(set(self.own) - set(kept) - {EXPORT_ENV, STEP_EXPORT_ENV})
        self.own = kept
        if lost:
            self.told.append(f"{who} keeps {', '.join(lost[:5])}{' ...' if lost[5:] else ''} from the server")


_FOR_APPTAINER = ("APPTAINERENV_", "SINGULARITYENV_")


def _perhaps(value: Text, why: str) -> Text:
    return Text(value.text, (*value.unknown, why))


def assign(environment: dict[str, Text], word: Text) -> None:
    """Put ``NAME=VALUE`` into ``environment``."""
    environment[word.text.partition("=")[0]] = behind(word, "=")


def hand(environment: dict[str, Text], word: Text, outside: Mapping[str, Text]) -> None:
    """``NAME=VALUE``, or ``NAME`` alone, which hands on a variable of the outside."""
    if ASSIGNED.match(word.text):
        assign(environment, word)
    elif word.text.isidentifier():
        environment[word.text] = outside.get(word.text, not_known(word.text))
