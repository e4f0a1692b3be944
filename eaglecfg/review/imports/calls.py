"""Server launches among the commands of a script, with what stands in front of them."""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

from eaglecfg.record import record, replace
from eaglecfg.review.imports.commands import Command
from eaglecfg.review.imports.defaults import of_defaults
from eaglecfg.review.imports.mounts import Mount
from eaglecfg.review.imports.pins import Pin, before, of_launch
from eaglecfg.review.imports.plain_prefix import ASSIGNED, Prefix
from eaglecfg.review.imports.prefix import read_prefix
from eaglecfg.review.imports.remote import rejoined
from eaglecfg.review.imports.shell_script import follow
from eaglecfg.review.imports.shell_state import State
from eaglecfg.review.imports.slurm import state_of_job
from eaglecfg.review.imports.text import Note, Text

_MODULE = re.compile(r"sglang\.(launch_server|srt\.(?:[\w.]*\.)?(?:launch_server|server|http_server))")
_ROUTER = "sglang_router.launch_server"
_MENTIONS = re.compile(
    r"sglang(?:\.launch_server|\.srt\.|\s+serve)|launch_server\.py|sglang_router\.launch_server"
)
_OTHERS = {
    "vllm": re.compile(r"\bvllm\s+serve\b|vllm\.entrypoints"),
    "TensorRT-LLM": re.compile(r"\btrtllm-serve\b"),
    "llama.cpp": re.compile(r"\bllama-server\b"),
    "sglang-jax": re.compile(r"\bsgl_jax\.launch_server"),
    "tokenspeed": re.compile(r"\btokenspeed\s+serve\b"),
}


_SILENT = frozenset(
    (
        "echo", "printf", "pkill", "pgrep", "grep", "egrep", "fgrep", "rg", "ps", "kill", "killall",
        "test", "[", "[[", "trap", "alias", ":", "true", "false", "logger", "cat", "tee", "sed", "awk",
        "curl", "wget", "return", "exit", "which", "type", "wait", "sleep", "notify-send", "git",
    )
)  # fmt: skip
"""Commands that show, look for or end what they name, and launch nothing."""

_THROUGH = frozenset(("sudo", "exec", "command", "builtin", "nohup", "time", "-E", "-n", "--"))
_STAYS = frozenset(("exec", "command", "nohup", "time", "env", "sudo", "-E", "setsid", "&"))
"""What starts a command in the folder in which it is started itself."""

_SHELLS = frozenset(("bash", "sh", "dash", "zsh", "ksh"))
_RUN_TEXT = frozenset(
    (
        "bash", "sh", "dash", "zsh", "ksh", "ssh", "autossh", "rsh", "tmux", "screen", "su", "runuser",
        "watch", "flock", "script", "sbatch", "srun", "pdsh", "clush", "parallel", "xargs", "systemd-run",
        "docker", "podman", "nerdctl", "kubectl", "singularity", "apptainer", "ray", "eval", "timeout",
    )
)  # fmt: skip
"""Programs that run a command that they are given as one text."""


@record
class Call:
    """One server launch: its ``arguments``, its ``environment``, and what the prefix tells.

    ``name``, where something names it: a container, a service, an object. ``contained``: paths are
    those of a container.
    """

    arguments: tuple[Text, ...]
    environment: Mapping[str, Text]
    line: int = 0
    name: str = ""
    image: str = ""
    contained: bool = False
    mounts: tuple[Mount, ...] = ()
    notes: tuple[Note, ...] = ()
    worker: bool = False
    """It is another host of a server whose first host has a call of its own."""
    pins: tuple[Pin, ...] = ()
    """Versions of the engine that are installed in front of it."""
    folder: str = ""
    """The absolute folder that it is started in, empty where that is not certain."""


def other_engine(text: str) -> str:
    """The name of another engine whose launch stands in ``text``, empty where there is none."""
    return next((name for name, pattern in _OTHERS.items() if pattern.search(text)), "")


def mentions(text: str) -> bool:
    """Whether the text speaks of a server launch, whatever becomes of it."""
    return _MENTIONS.search(text) is not None


def _is_silent(words: Sequence[Text]) -> bool:
    """Whether the command launches nothing, whatever its words are."""
    for word in words:
        name = posixpath.basename(word.text)
        if name not in _THROUGH and not re.match(r"[A-Za-z_]\w*=", word.text):
            return name in _SILENT
    return False


def calls_of_script(text: str, line: int = 1) -> tuple[list[Call], list[Note]]:
    """The launches in a script, and what is to be told about the whole of it."""
    state, of_job = state_of_job(text)
    script = follow(text, state, line=line)
    script.notes[:0] = of_job
    told = [*script.notes, *of_defaults(script.state.defaults, " in the script")]
    open_here = tuple(note for note in told if note.todo)
    found = [
        (at, replace(call, notes=(*open_here, *call.notes)))
        for at, (command, pins) in enumerate(before(script.commands))
        for call in calls_of_command(command, pins=pins)
    ]
    calls = [call for _, call in found]
    notes = [note for note in script.notes if not note.todo] if calls else []
    notes += script.moves(found[-1][0]) if found else []
    notes += [
        Note(
            f"{command.words[0].text} begins a line of its own: the command above does not reach it",
            command.line,
        )
        for command in script.commands
        if calls and command.words[0].text.startswith("--")
    ]
    notes += [
        Note("a here-document mentions a server: it is text, and not read as a launch", at)
        for at, row in script.skipped
        if calls and mentions(row)
    ]
    notes += [note for note in told[len(script.notes) :] if not note.todo]
    return calls, notes


def calls_of_command(command: Command, depth: int = 0, pins: tuple[Pin, ...] = ()) -> Iterator[Call]:
    """The launch that ``command`` is, or those in a script that it hands to a shell.

    ``pins`` are the versions of the engine that were installed in front of it.
    """
    if _is_silent(command.words):
        return
    command = replace(command, words=rejoined(command.words))
    at = _start_of_arguments(command.words)
    if at is not None:
        yield _launch(command, at, pins)
        return
    for index, word in enumerate(command.words):
        if mentions(word.text) and re.search(r"\s", word.text.strip()):
            yield from _calls_of_text(command, index, depth, pins)
            return


def _launch(command: Command, at: tuple[int, int, str], pins: tuple[Pin, ...]) -> Call:
    """The launch whose program and arguments stand at ``at`` among the words of ``command``."""
    front, arguments = command.words[: at[0]], command.words[at[1] :]
    prefix = read_prefix(front, command.environment, command.unread)
    program = command.words[at[0]].text
    apart = prefix.contained or prefix.remote
    pins = of_launch(front, () if apart else pins, program, "" if apart else command.folder)
    stays = all(posixpath.basename(word.text) in _STAYS or ASSIGNED.match(word.text) for word in front)
    call = replace(_call(command, prefix, tuple(arguments)), pins=pins)
    call = replace(call, folder=command.standing_in if stays else "")
    told = [at[2]] if at[2] else []
    if any(_runs_text(one, option) for one, option in itertools.pairwise(front)):
        text = "a shell with -c runs its first word alone: what stands behind is not part of the command"
        call = replace(call, notes=(*call.notes, Note(text, command.line, todo=True, block="server")))
    if program.endswith(("python", "python3")) and "/" in program:
        told.append(f"the Python of the launch is {program}: render it with --python {program}")
    return replace(call, notes=(*call.notes, *(Note(text, command.line) for text in told)))


def _runs_text(shell: Text, option: Text) -> bool:
    return posixpath.basename(shell.text) in _SHELLS and re.fullmatch("-[a-z]*c", option.text) is not None


def _calls_of_text(command: Command, index: int, depth: int, pins: tuple[Pin, ...]) -> Iterator[Call]:
    """The launches in the word at ``index``, which is a script that the words in front of it run."""
    front, behind = command.words[:index], command.words[index + 1 :]
    if front and not any(posixpath.basename(each.text) in _RUN_TEXT for each in front):
        return  # text for something that may show it or look for it
    prefix = read_prefix(front, command.environment, command.unread)
    surplus = tuple(
        Note(
            f"the word {each.text!r} stands behind a whole command in one text", command.line, True, "server"
        )
        for each in (behind if not front else ())
    )
    state = State(dict(prefix.environment), set(prefix.environment), unread=prefix.unread)
    if behind and len(front) > 1 and _runs_text(front[-2], front[-1]):
        state.given = tuple(behind[1:])  # the first one is $0
    text = re.sub(r"\A--[a-z-]+=", "", state.outer.taken(command.words[index]))  # sbatch --wrap="..."
    inside = follow(text, state, depth + 1, command.line)
    told_inside = (*inside.notes, *of_defaults(state.defaults, line=command.line), *surplus)
    outer = _call(command, prefix, ())
    earlier = () if prefix.contained or prefix.remote else pins
    for at, (inner, installed) in enumerate(before(inside.commands, earlier)):
        for call in calls_of_command(inner, depth + 1, installed):
            yield replace(
                call,
                name=call.name or outer.name,
                image=call.image or outer.image,
                contained=call.contained or outer.contained,
                mounts=(*outer.mounts, *call.mounts),
                notes=(*outer.notes, *told_inside, *inside.moves(at), *call.notes),
            )


def _call(command: Command, prefix: Prefix, arguments: tuple[Text, ...]) -> Call:
    return Call(
        arguments=arguments,
        environment=prefix.environment,
        line=command.line,
        name=prefix.name,
        image=prefix.image,
        contained=prefix.contained,
        mounts=prefix.mounts,
        notes=(
            *(Note(text, command.line) for text in prefix.left_out),
            *(Note(text, command.line, todo=True, block="env") for text in prefix.todo),
        ),
    )


def _start_of_arguments(words: Sequence[Text]) -> tuple[int, int, str] | None:
    """(words in front of the interpreter or program, where the server's arguments begin, what to tell)."""
    for index, word in enumerate(words):
        text = word.text
        follows = words[index + 1].text if index + 1 < len(words) else ""
        if text == "-m" and (_MODULE.fullmatch(follows) or follows == _ROUTER):
            told = "the router's own flags are kept as they are" if follows == _ROUTER else ""
            return _program(words, index), index + 2, told
        if text.startswith("-m") and _MODULE.fullmatch(text[2:]):
            return _program(words, index), index + 1, ""
        name = posixpath.basename(text)
        if name == "sglang" and follows == "serve":
            return index, index + 2, ""
        if name == "launch_server.py":
            return _program(words, index), index + 1, ""
    return None


def _program(words: Sequence[Text], at: int) -> int:
    """The index of the Python in front of ``at``, or of the program whose option ``-m`` is."""
    for index in range(at - 1, -1, -1):
        if re.match(r"python[\d.]*$", posixpath.basename(words[index].text)):
            return index
        if not words[index].text.startswith("-"):
            break
    return at
