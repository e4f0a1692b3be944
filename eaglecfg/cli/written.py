"""Results that a command writes to stdout, or to a file that was not there before."""

from __future__ import annotations

import os
from pathlib import Path

import click

from eaglecfg.errors import UsageError


def write_new(text: str, output: Path | None) -> None:
    """Write ``text`` to stdout, or to the new file ``output``, whole or not at all. Never overwrites.

    Raises UsageError where the file is there already, OSError where it cannot be written.
    """
    if output is None:
        click.echo(text, nl=False)
        return
    if not output.parent.is_dir():
        raise UsageError(f"{output}: there is no folder {output.parent} to write it to")
    try:
        file = output.open("x", encoding="utf-8", newline="\n")
    except FileExistsError:
        raise UsageError(f"{output} is there already, and is not overwritten; name another file") from None
    try:
        with file:
            file.write(text)
    except OSError:
        os.unlink(output)  # noqa: PTH108 - half a file would be taken for a whole one
        raise
    click.echo(f"wrote {output}", err=True)
