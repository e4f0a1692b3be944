"""``eaglecfg import``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from eaglecfg.cli.output import tell, traceback_option
from eaglecfg.cli.written import refuse_existing, write_new
from eaglecfg.errors import UsageError
from eaglecfg.review.imports.importing import import_text
from eaglecfg.source.limits import MAX_BYTES

INCOMPLETE = 3


@click.command("import")
@click.argument("source")
@click.option("--engine-version", metavar="VERSION", help="The engine's version, whatever SOURCE says.")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), help="Write to this file, which must be new."
)
@click.option("--schema", metavar="PATH", help="Path or address of the JSON Schema, for the file's modeline.")
@click.option("--only", metavar="NAME", help="Import this one of several servers: a service, a deployment.")
@traceback_option
def command(
    source: str, engine_version: str | None, output: Path | None, schema: str | None, only: str | None
) -> int:
    """Make an eaglecfg.yaml of a server launch that exists.

    SOURCE is a file, - for stdin, a whole command in quotes, or the http:// address of a running server, of
    which only its settings are read. The file may be a shell script, a compose file, a Kubernetes manifest, a
    Dockerfile, a systemd unit, a saved answer of /server_info, or what eaglecfg render wrote.

    What is left out or not known is told on stderr, one line each. Exit code 3: something of the launch is
    not known; it is marked TODO in the file. Exit code 0: every value of the launch stands in the file.
    """
    output = None if output == Path("-") else output
    refuse_existing(output)
    text, shown = _read(source)
    result = import_text(
        text, shown, engine_version=engine_version, schema=schema, running=_is_address(source), only=only
    )
    for note in result.notes:
        line = f":{note.line}" if note.line and "\n" in text.strip() else ""
        tell(_one_line(f"{shown}{line}: {'TODO: ' if note.todo else ''}{note.text}"))
    write_new(result.text, output)
    return INCOMPLETE if result.left_open else 0


def _one_line(text: str) -> str:
    """``text`` for a terminal: what it was made of is others' text."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _read(source: str) -> tuple[str, str]:
    """The text behind SOURCE, and how messages name it."""
    if _is_address(source):
        from eaglecfg.review.imports.server_info import fetch

        return fetch(source), source
    if source == "-":
        raw = sys.stdin.buffer.read(MAX_BYTES + 1) if sys.stdin is not None else b""
        return _decoded(raw, "stdin"), "stdin"
    path = Path(source)
    there = len(source) < 1000 and "\n" not in source and path.exists()
    if there and not path.is_dir():
        with path.open("rb") as file:
            return _decoded(file.read(MAX_BYTES + 1), source), source
    if not source.strip():
        raise UsageError(
            "import takes a file, - for stdin, a command in quotes or http://host:port, got nothing"
        )
    if " " not in source.strip() and "\n" not in source.strip():
        what = "this is a folder; name the file in it" if there else "there is no such file"
        raise UsageError(f"{source[:200]}: {what}. A command is given in quotes, as one argument")
    return source, "the command"


def _is_address(source: str) -> bool:
    return source.startswith(("http://", "https://"))


def _decoded(raw: bytes, shown: str) -> str:
    if len(raw) > MAX_BYTES:
        raise UsageError(
            f"{shown}: at most {MAX_BYTES >> 20} MiB is read, this is more; name the launch script itself"
        )
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{shown}: UTF-8 text is expected, this is not") from None
