"""A launch as a shell script, for sh and bash."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator

from eaglecfg.review.render.container import found, workdir
from eaglecfg.review.render.header import header, shown
from eaglecfg.review.render.launch import Launch, Word

_SPECIAL = re.compile(
    r"_|BASH\w*|COMP_\w*|DIRSTACK|ENV|EPOCH\w+|EUID|FUNCNAME|GROUPS|HIST\w+|IFS|LINENO|MAIL\w*|OLDPWD|OPT[A-Z]+"
    r"|PIPESTATUS|POSIXLY_CORRECT|PPID|PS[0-4]|PWD|RANDOM|SECONDS|SHELLOPTS|SHLVL|SRANDOM|UID"
)
"""Names that mean something to a shell or cannot be set in it: the env command sets them instead."""


def render(launch: Launch) -> str:
    """The script. Raises nothing that the launch did not."""
    lines = ["#!/bin/sh", *header(launch)]
    if workdir(launch) is not None:
        lines.append(f"# Relative paths count from the folder of {shown(launch.config)}: run it there.")
    lines.append("set -eu")
    lines += _checks(launch)
    lines += [f': "{needed(name)}"' for name in launch.handed if not _exported(launch, name)]
    through_env = []
    for variable in launch.variables:
        value = f'"{needed(variable.name)}"' if variable.text is None else shlex.quote(variable.text)
        if _SPECIAL.fullmatch(variable.name):
            through_env.append(f"{variable.name}={value}")
        else:
            lines.append(f"export {variable.name}={value}")
    program = " ".join([*(["env", *through_env] if through_env else []), *map(shlex.quote, launch.program)])
    lines.append(" \\\n  ".join([f"exec {program}", *options(launch)]))
    return "\n".join(lines) + "\n"


def _checks(launch: Launch) -> Iterator[str]:
    """Says so in a folder that is not the config's: the server would look for its checkpoints elsewhere."""
    for path in [each.path for each in found(launch) if each.kind in ("above", "beside")][:1]:
        told = f"there is no {path} here: relative paths count from the folder of {shown(launch.config)}"
        yield f"[ -e {shlex.quote(path)} ] || echo {shlex.quote(told)} >&2"


def options(launch: Launch, quote: Callable[[str], str] = shlex.quote) -> list[str]:
    """Each option with its values, quoted by ``quote``; a variable's value is taken as it is."""

    def word(one: Word) -> str:
        if not one.variable:
            return quote(one.text)
        return f'{quote(one.text) if one.text else ""}"${one.variable}"'

    return [" ".join(map(word, option)) for option in launch.options]


def needed(name: str) -> str:
    """The value of a variable; the shell stops with a message where it is not set."""
    return f"${{{name}:?is not set, and eaglecfg never writes its value}}"


def _exported(launch: Launch, name: str) -> bool:
    return any(variable.name == name for variable in launch.variables)
