"""``eaglecfg nccl-log``: what NCCL's log says, and whether the settings of a deployment acted."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from eaglecfg import __version__
from eaglecfg.cli.output import color_option, columns, json_errors, read_files, traceback_option, write
from eaglecfg.errors import UsageError
from eaglecfg.report.nccl_log import Shown, as_json, render, wanted

if TYPE_CHECKING:
    from eaglecfg.nccl.log.judge import Asked
    from eaglecfg.nccl.log.model import NcclLog

DID_NOT_ACT = 1
NOTHING_THERE = 3
SUBSYSTEMS = "NCCL_DEBUG_SUBSYS"


@click.command(
    "nccl-log",
    epilog="Exit codes: 0 read, 1 a setting of the deployment demonstrably did not act, 2 usage or an "
    "unreadable file, 3 the files hold no line of NCCL, 4 internal error, 130 interrupted.",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--config", metavar="FILE", help="Judge the NCCL settings of a deployment in this config.")
@click.option("--deployment", "-d", help="The deployment to judge; needed where the config has several.")
@click.option("--against", metavar="FILE", help="Compare what NCCL chose with this other log.")
@click.option(
    "--subsystems",
    metavar="LIST",
    help="What NCCL_DEBUG_SUBSYS was, where neither the log nor the config shows it.",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@color_option
@traceback_option
@json_errors
def command(
    files: tuple[str, ...],
    config: str | None,
    deployment: str | None,
    against: str | None,
    subsystems: str | None,
    form: str,
    color: str,
) -> int:
    """Read NCCL's log: version, communicators, variables it took, and what it chose for which message.

    FILE is what a server wrote under NCCL_DEBUG=INFO, or a file of NCCL_DEBUG_FILE; several are read as one
    log, - is stdin. Whatever else is in it is skipped. With --config each NCCL setting of the deployment gets
    a verdict: acted, taken (nothing shows its effect), contradicted, misread, overridden, not taken, or
    cannot tell.
    """
    if deployment is not None and config is None:
        raise UsageError("--deployment names a deployment of a config: give --config FILE with it")
    if subsystems is not None:
        _refuse_unknown(subsystems)
    name, settings = _settings(config, deployment) if config is not None else ("", ())
    declared = _declared(subsystems, settings)
    log = _read(files, declared)
    if not log.messages:
        raise _NothingThere(_nothing(files))
    other = _read([against], frozenset()) if against is not None else None
    if other is not None and not other.messages:
        raise _NothingThere(_nothing([str(against)]))
    shown = _shown(log, name, settings, other, against or "")
    if form == "json":
        click.echo(as_json(shown, version=__version__), nl=False)
    else:
        write(render(shown, columns()), color)
    return DID_NOT_ACT if any(one.failed for one in shown.verdicts) else 0


class _NothingThere(UsageError):
    """There is nothing to say about files without a line of NCCL."""

    exit_code = NOTHING_THERE


def _nothing(files: Sequence[str]) -> str:
    names = ", ".join("stdin" if name == "-" else name for name in files[:3])
    more = f" and {len(files) - 3} more files" if len(files) > 3 else ""
    return f"{names}{more}: no line of NCCL; start the server with {wanted()} and give what it writes"


def _shown(log: NcclLog, name: str, settings: Sequence[Asked], other: NcclLog | None, against: str) -> Shown:
    from eaglecfg.nccl.log.compare import compare
    from eaglecfg.nccl.log.judge import OF_THE_LOG, judge

    compared = compare(log, other) if other is not None else ()
    only = tuple(sorted(one.name for one in settings if one.name in OF_THE_LOG))
    return Shown(log, name, judge(settings, log), against, compared, only)


def _declared(given: str | None, settings: Sequence[Asked]) -> frozenset[str]:
    """The subsystems that are known to have been on. An inverted list says nothing that could be used."""
    text = given if given is not None else next((one.text for one in settings if one.name == SUBSYSTEMS), "")
    names = [part.strip().upper() for part in text.split(",") if part.strip()]
    if any(name.startswith("^") for name in names):
        return frozenset()
    every = ("INIT", "ENV", "TUNING", "GRAPH", "COLL", "P2P", "SHM", "NET", "NVLS")
    return frozenset(every if "ALL" in names else names)


def _refuse_unknown(given: str) -> None:
    """Raise UsageError for what is none of NCCL's subsystems: nothing could follow from it."""
    from eaglecfg.nccl.facts import variable_fact

    fact = variable_fact(SUBSYSTEMS)
    known = fact.get("words") if fact is not None else ()
    for name in given.removeprefix("^").split(","):
        if name.strip().upper() not in known:
            raise UsageError(
                f"--subsystems takes names of {SUBSYSTEMS} with commas between them, got "
                f"{name.strip() or 'an empty one'!r}; it knows {', '.join(known)}"
            )


def _read(names: Sequence[str], declared: frozenset[str]) -> NcclLog:
    from eaglecfg.nccl.log.summary import read_log

    with ExitStack() as stack:
        return read_log(_streams(names, stack), subsystems=declared)


def _streams(names: Sequence[str], stack: ExitStack) -> Iterator[tuple[str, BinaryIO]]:
    """Each file opened when its turn comes: a job may have written thousands."""
    for name in dict.fromkeys(names):
        if name == "-":
            if sys.stdin is not None:
                _refuse_packed(name, sys.stdin.buffer)
                yield name, sys.stdin.buffer
        elif Path(name).is_dir():
            raise UsageError(f"{name} is a folder; name the files in it ({name.rstrip('/')}/*)")
        else:
            with Path(name).open("rb") as stream:
                _refuse_packed(name, stream)
                yield name, stream


PACKED = {
    b"\x1f\x8b": ("compressed with gzip", "zcat"),
    b"\xfd7zXZ\x00": ("compressed with xz", "xzcat"),
    b"BZh": ("compressed with bzip2", "bzcat"),
    b"\x28\xb5\x2f\xfd": ("compressed with zstd", "zstdcat"),
    b"\x04\x22\x4d\x18": ("compressed with lz4", "lz4cat"),
    b"PK\x03\x04": ("a zip archive", "unzip -p"),
    b"\xff\xfe": ("text in UTF-16", "iconv -f UTF-16 -t UTF-8"),
    b"\xfe\xff": ("text in UTF-16", "iconv -f UTF-16 -t UTF-8"),
}
"""First bytes of files in which no line could be found: what they are, and what makes a log of them."""


def _refuse_packed(name: str, stream: BinaryIO) -> None:
    """Raise UsageError for a file that has to be unpacked first. Nothing of ``stream`` is used up."""
    if not isinstance(stream, BufferedReader):
        return
    head = stream.peek(300)[:300]
    packed = next((known for start, known in PACKED.items() if head.startswith(start)), None)
    if packed is None and head[257:262] == b"ustar":
        packed = "a tar archive", "tar -xOf"
    if packed is None and len(head) >= 8 and head[1:8:2] == b"\0\0\0\0" and b"\0" not in head[0:8:2]:
        packed = "text in UTF-16", "iconv -f UTF-16LE -t UTF-8"
    if packed is None:
        return
    what, how = packed
    command = (
        f"{how} | eaglecfg nccl-log -" if name == "-" else f"{how} {shlex.quote(name)} | eaglecfg nccl-log -"
    )
    raise UsageError(f"{'stdin' if name == '-' else name} is {what}, which is not read: {command}")


def _settings(config: str, deployment: str | None) -> tuple[str, tuple[Asked, ...]]:
    """The NCCL variables of the deployment, with what the engine makes of them."""
    from eaglecfg.cli.output import hub_settings
    from eaglecfg.rules.context import Checkpoints, deployment_context
    from eaglecfg.rules.nccl.asked import asked_settings
    from eaglecfg.schema.load import load_config

    document = read_files([config])[0]
    loaded = load_config(document)
    names = [each.name for each in loaded.deployments]
    if not names:
        raise UsageError(f"{document.name} has no deployment that can be read; eaglecfg validate says why")
    if deployment is None and len(names) > 1:
        raise UsageError(f"{document.name} has several deployments; choose one with -d: {', '.join(names)}")
    if deployment is not None and deployment not in names:
        raise UsageError(f"{document.name} has no deployment {deployment!r}; it has {', '.join(names)}")
    chosen = next(each for each in loaded.deployments if deployment in (None, each.name))
    context = deployment_context(loaded, chosen, Checkpoints(hub=hub_settings()))
    return chosen.name, asked_settings(context)
