"""How commands write: colour or not, how wide, and options that several commands share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from eaglecfg.errors import UsageError
from eaglecfg.report.styled import Line, coloured, plain
from eaglecfg.source.document import Document
from eaglecfg.source.read import read_document

DEFAULT_FILES = ("eaglecfg.yaml", "eaglecfg.yml")
WIDEST = 110

F = TypeVar("F", bound=Callable[..., Any])


def color_option(function: F) -> F:
    """``--color auto|always|never``."""
    return click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        help="Colour the output; auto looks at the terminal, NO_COLOR and FORCE_COLOR.",
    )(function)


def traceback_option(function: F) -> F:
    """``--traceback``, for a report of a fault in eaglecfg itself; read by main()."""
    return click.option(
        "--traceback", is_flag=True, expose_value=False, help="Show a traceback if eaglecfg itself fails."
    )(function)


def write(lines: Sequence[Line], color: str) -> None:
    """Write styled lines to stdout, with colours where they are wanted."""
    click.echo(coloured(lines) if _colours(color) else plain(lines), nl=False, color=True)


def columns() -> int:
    """Columns to wrap prose to: the terminal's, but never wider than reads well."""
    if not sys.stdout.isatty():
        return WIDEST
    import shutil  # brings the compression libraries along

    return min(shutil.get_terminal_size((WIDEST, 40)).columns, WIDEST)


def read_files(names: Sequence[str]) -> list[Document]:
    """The named files, or the eaglecfg.yaml of this folder. Raises UsageError or ConfigUnreadable."""
    if not names:
        found = [name for name in DEFAULT_FILES if Path(name).is_file()]
        if not found:
            raise UsageError(
                "there is no eaglecfg.yaml in this folder; name a file, or go to one that has it"
            )
        names = found[:1]
    return [read_document(Path(name), shown=name) for name in dict.fromkeys(names)]


def _colours(color: str) -> bool:
    if color != "auto":
        return color == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
