"""``eaglecfg engine-diff``: do the engine facts agree with a wheel of the engine."""

from __future__ import annotations

from pathlib import Path

import click

from eaglecfg.cli.output import traceback_option
from eaglecfg.engines.disagreements import compare
from eaglecfg.engines.table import load_facts
from eaglecfg.engines.wheel_open import opened
from eaglecfg.engines.wheel_values import wheel_version
from eaglecfg.errors import UsageError
from eaglecfg.report.engine_diff import as_json, render


@click.command("engine-diff")
@click.argument("wheel", type=click.Path(path_type=Path))
@click.option("--engine", default="sglang", show_default=True, help="The engine whose facts to compare.")
@click.option(
    "--facts",
    "version",
    metavar="VERSION",
    help="Compare with the facts of this version instead of the one that the wheel names.",
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
def command(wheel: Path, engine: str, version: str | None, form: str) -> int:
    """Compare what eaglecfg knows about an engine version with the engine's own code.

    WHEEL is a .whl file, or the folder that it was unpacked to. The code is read as text; nothing of it is
    imported. Of it only capture setters are run, each alone, after a check of everything that it does. A
    version that is not known is compared with the nearest one. Exit code 1: they differ.
    """
    with opened(wheel, engine) as package:
        found = version or wheel_version(package)
        if found is None:
            raise UsageError(f"{wheel} does not say which version it is; name one with --facts VERSION")
        facts = load_facts(engine, found)
        if facts is None:
            raise UsageError(f"there are no facts about engine {engine!r}; there are some about sglang")
        try:
            comparison = compare(facts, package)
        except (SyntaxError, UnicodeDecodeError, RecursionError, MemoryError) as error:
            raise UsageError(f"{wheel} holds Python code that cannot be read: {error}") from error
    click.echo((as_json if form == "json" else render)(facts, comparison), nl=False)
    return 1 if comparison.disagreements else 0
