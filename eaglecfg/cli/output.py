"""How commands write: colour or not, how wide, and options that several commands share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from eaglecfg import __version__
from eaglecfg.errors import EaglecfgError, UsageError
from eaglecfg.report.styled import Line, coloured, plain, visible
from eaglecfg.source.document import Document
from eaglecfg.source.limits import MAX_BYTES
from eaglecfg.source.read import read_bytes, read_document

if TYPE_CHECKING:
    from eaglecfg.checkpoint.hubid import HubAccess

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


def json_errors(function: F) -> F:
    """Where JSON is asked for, put an error that ends the command on stdout as well, as JSON."""

    @wraps(function)
    def command(*, form: str, **given: Any) -> Any:
        try:
            return function(form=form, **given)
        except EaglecfgError as error:
            if form == "json":
                _error_json(str(error), error.exit_code)
            raise
        except OSError as error:  # a file that was named; main() says the same on stderr
            if form == "json" and error.filename is not None:
                _error_json(f"{error.filename}: {error.strerror or error}", UsageError.exit_code)
            raise

    return cast(F, command)


def _error_json(message: str, code: int) -> None:
    from eaglecfg.report.machine import error_json
    from eaglecfg.source.secrets import redact_text

    click.echo(error_json(redact_text(message), code, version=__version__), nl=False)


def write(lines: Sequence[Line], color: str) -> None:
    """Write styled lines to stdout, with colours where they are wanted."""
    click.echo(coloured(lines) if _colours(color) else plain(lines), nl=False, color=True)


def tell(text: str) -> None:
    """Write text to stderr. What a server or a file has put into it cannot drive the reader's terminal."""
    click.echo(shown(text), err=True)


def say(text: str = "") -> None:
    """Write text to stdout, control characters escaped likewise."""
    click.echo(shown(text))


def shown(text: str) -> str:
    """Lines of text with control characters as escapes."""
    return "\n".join(map(visible, text.split("\n")))


def columns() -> int:
    """Columns to wrap to: COLUMNS, or the terminal's, but never wider than reads well."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and given.isascii() and 0 < len(given) < 6 and int(given):
        return min(int(given), WIDEST)
    if not sys.stdout.isatty():
        return WIDEST
    import shutil  # brings the compression libraries along

    return min(shutil.get_terminal_size((WIDEST, 40)).columns, WIDEST)


def read_files(names: Sequence[str]) -> list[Document]:
    """The named files, ``-`` for stdin, or the eaglecfg.yaml of this folder.

    Raises UsageError or ConfigUnreadable.
    """
    if not names:
        found = [name for name in DEFAULT_FILES if Path(name).is_file()]
        if not found:
            raise UsageError(
                "there is no eaglecfg.yaml in this folder; name a file, or go to one that has it"
            )
        names = found[:1]
    return [
        read_bytes(
            sys.stdin.buffer.read(MAX_BYTES + 1) if sys.stdin is not None else b"", "-", str(Path.cwd())
        )
        if name == "-"
        else read_document(Path(name), shown=name)
        for name in dict.fromkeys(names)
    ]


def split_names(given: Sequence[str], option: str) -> list[str]:
    """Rule names of an option that may be repeated and takes commas. Raises UsageError for an empty name."""
    names = [part.strip() for each in given for part in each.split(",")]
    if not all(names):
        raise UsageError(f"{option} takes the name of a rule (id, slug or EC2), got an empty one")
    return names


def refuse_empty(option: str, given: str | None) -> None:
    """Raise UsageError where an option that names a program was given, and names none: ``--python "$PY"``."""
    if given is not None and not given.strip():
        raise UsageError(f"{option} takes the name of a program, got an empty one")


def _colours(color: str) -> bool:
    if color != "auto":
        return color == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if (forced := os.environ.get("FORCE_COLOR", "")) != "":
        return forced.lower() not in ("0", "false")
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def hub_settings(*, online: bool = False) -> Callable[[], HubAccess]:
    """What the environment says about the hub, worked out only if some checkpoint is named by a hub id."""

    def access() -> HubAccess:
        from eaglecfg.checkpoint.hubid import hub_access

        return hub_access(os.environ, online=online)

    return access
