"""Results that a command writes to stdout, or to a file that was not there before."""

from __future__ import annotations

import os
from pathlib import Path

import click

from eaglecfg.cli.output import tell
from eaglecfg.errors import UsageError


def write_new(text: str, output: Path | None) -> None:
    """Write ``text`` to stdout, or to the new file ``output``, whole or not at all. Never overwrites.

    Raises UsageError where the file is there already, OSError where it cannot be written.
    """
    if output is None:
        click.echo(text, nl=False)
        return
    refuse_existing(output)
    try:
        file = output.open("x", encoding="utf-8", newline="\n")
    except FileExistsError:
        raise _there(output) from None
    try:
        with file:
            file.write(text)
    except OSError:
        os.unlink(output)  # noqa: PTH108 - half a file would be taken for a whole one
        raise
    tell(f"wrote {output}")


def refuse_existing(output: Path | None) -> None:
    """Raise UsageError where a new file cannot be written to ``output``, before any work is done for it."""
    if output is None:
        return
    if os.path.lexists(output):
        raise _there(output)
    if not output.parent.is_dir():
        raise UsageError(f"{output}: there is no folder {output.parent} to write it to")


def _there(output: Path) -> UsageError:
    return UsageError(f"{output} is there already, and is not overwritten; name another file")
