"""``eaglecfg nccl-diff``: do the NCCL facts agree with an installed library."""

from __future__ import annotations

from pathlib import Path

import click

from eaglecfg.cli.output import json_errors, refuse_empty, traceback_option
from eaglecfg.errors import UsageError
from eaglecfg.nccl.library import compare_stream, is_library, library_of, opened_library
from eaglecfg.nccl.version import release
from eaglecfg.report.nccl_diff import as_json, render


@click.command("nccl-diff")
@click.argument("library", required=False, type=click.Path(path_type=Path))
@click.option("--python", metavar="PYTHON", help="Take the library that torch loads under this interpreter.")
@click.option(
    "--nccl",
    "version",
    metavar="VERSION",
    default="",
    help="Compare with the facts of this version instead of the one that the library names.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print the differences.",
)
@traceback_option
@json_errors
def command(library: Path | None, python: str | None, version: str, form: str) -> int:
    """Compare the variables that eaglecfg knows with the names in a libnccl, both ways.

    LIBRARY is a libnccl.so.2, a wheel of nvidia-nccl, or a folder with the library below it. It is read as
    bytes and never loaded; no GPU is needed. Exit code 1: they differ.
    """
    refuse_empty("--python", python)
    if (library is None) == (python is None):
        raise UsageError(
            "name one library: a path to libnccl.so.2, or --python with the interpreter that has torch"
        )
    if version and len(release(version)) < 2:
        raise UsageError(f"--nccl takes a version such as 2.30.7, got {version}")
    path = library_of(python) if python is not None else library
    assert path is not None
    with opened_library(path) as (stream, shown):
        if not is_library(stream):
            raise UsageError(
                f"{shown} does not begin as a shared library does: it is no libnccl; name a libnccl.so.2, "
                f"a wheel of it, or its folder"
            )
        comparison = compare_stream(stream, version)
    if not comparison.found and not comparison.version:
        raise UsageError(f"{shown} holds no name of a variable of NCCL's: it is no libnccl")
    click.echo((as_json if form == "json" else render)(shown, comparison), nl=False)
    return 0 if comparison.agrees else 1
