"""Files that NCCL is told to read or write."""

from __future__ import annotations

import os.path
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Fix, Item, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings

if TYPE_CHECKING:
    from eaglecfg.nccl.facts import VariableFact
    from eaglecfg.rules.nccl.settings import Settings
from eaglecfg.source.span import KeyPath

OUTCOME = {
    "fatal": ("NCCL stops at initialisation", Today.CRASH_AT_START),
    "silent": ("NCCL goes on without it, and without a word", Today.SILENT),
}


def check(ctx: Context) -> Iterator[Item]:
    """Files must be there under the very name that NCCL opens, and logs must have a place each."""
    view = settings(ctx)
    if view is None:
        yield NotApplicable()
        return
    for variable, fact in view.known("path", "plugin", "target"):
        if variable.text == "":
            continue
        if fact.kind == "path":
            yield from _read(view, variable.name, fact)
        elif fact.kind == "plugin" and "/" in variable.text:
            yield from _plugin(view, variable.name)
        elif fact.kind == "target":
            yield from _written(view, variable.name, fact)


def _read(view: Settings, name: str, fact: VariableFact) -> Iterator[Item]:
    text = view.text(name)
    outcome, today = OUTCOME[fact.get("missing")]
    if "~" in text:
        yield view.finding(
            name,
            f"{view.spelled(name)}: NCCL does not know ~, so that the file is not found; {outcome}",
            today=today,
            why="the shell turns ~ into a folder, and no shell reads this value",
            help="write the whole path",
        )
        return
    path = Path(view.ctx.config.document.folder) / text
    if not path.is_file() and _elsewhere(view, text):
        yield _unseen(view, name, text)
    elif not path.is_file():
        yield view.finding(
            name,
            f"{view.spelled(name)} does not exist here; {outcome}",
            today=today,
            why=f"looked for as {path}; a server that starts elsewhere looks from its own folder",
            help="give the path as the server sees it, and ignore this rule where only that machine has the "
            "file",
        )
    elif name == "NCCL_CONF_FILE":
        yield from _conf(view, name, path)


def _elsewhere(view: Settings, text: str) -> bool:
    """Whether a whole path is one of the machine that serves, and this need not be that one.

    What lies in the config's own folder travels with it. Where an installed engine answered, and has an
    accelerator, this is where the server runs.
    """
    says = view.ctx.engine_says
    if says is not None and says.outcome in ("values", "refused") and not says.on_cpu:
        return False
    folder = Path(view.ctx.config.document.folder)
    path = os.path.normpath(text)
    return Path(path).is_absolute() and not any(
        Path(path).is_relative_to(own) for own in (folder.absolute(), folder.resolve())
    )


def _unseen(view: Settings, name: str, text: str) -> NotChecked:
    return NotChecked(
        f"{name}: {text} is not on this machine, which need not be the one that serves",
        path=view.path(name),
        help="run eaglecfg validate --with-engine where the server runs: there the file has to be",
    )


def _conf(view: Settings, name: str, path: Path) -> Iterator[Item]:
    lines = path.read_bytes()[:65536].decode("utf-8", "replace").splitlines()
    for number, line in enumerate(lines, 1):
        key, equals, value = line.partition("=")
        if line.startswith("#") or not equals:
            continue
        at = Evidence(view.text(name), key.strip(), value.strip(), line=number)
        if key != key.strip() or value != value.lstrip():
            message = f"line {number} of {view.text(name)} has spaces around =, which NCCL keeps"
            yield view.finding(name, message, evidence=(at,), help=f"write {key.strip()}={value.strip()}")
        elif key in view and view.text(key) != value:
            message = f"{view.spelled(key)} wins over {value} in {view.text(name)}"
            yield view.finding(key, message, severity=Severity.INFO, today=Today.IGNORED, evidence=(at,))


def _plugin(view: Settings, name: str) -> Iterator[Item]:
    for text in view.text(name).split(","):
        path = Path(view.ctx.config.document.folder) / text.strip()
        if "/" in text and not path.exists() and _elsewhere(view, text.strip()):
            yield _unseen(view, name, text.strip())
        elif "/" in text and not path.exists():
            yield view.finding(
                name,
                f"{name} names {text.strip()}, which does not exist here; NCCL goes on without the plug-in",
                why="a plug-in that cannot be loaded costs one line in the log",
                help="give the path as the server sees it",
            )


STREAMS = ("stdout", "stderr", "/dev/", "/proc/")
"""What takes the lines of every rank as they come."""


def _written(view: Settings, name: str, fact: VariableFact) -> Iterator[Item]:
    text = view.text(name)
    if "~" in text:
        yield view.finding(
            name,
            f"{view.spelled(name)}: NCCL does not know ~, so that the file is not opened",
            why="the shell turns ~ into a folder, and no shell reads this value",
            help="write the whole path",
        )
    elif fact.get("per_process") and "%p" not in text and view.tensor > 1 and not text.startswith(STREAMS):
        path: KeyPath = view.path(name)
        root, dot, ending = text.rpartition(".") if "." in text.rpartition("/")[2] else (text, "", "")
        fixed = f"{root}.%h.%p{dot}{ending}"
        yield view.finding(
            name,
            f"{view.spelled(name)} is one file for {view.tensor} ranks, which write over each other",
            why="every rank opens the file anew",
            help=f"write {fixed}: %h is the host, %p the process",
            fix=Fix(f"set {name} to {fixed}", path, fixed),
        )


RULE = Rule(
    id="EC631",
    slug="nccl-file-missing",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    research=(
        "nccl/F001",
        "nccl/F002",
        "nccl/F004",
        "nccl/F008",
        "nccl/N008",
        "nccl/N009",
    ),
)
