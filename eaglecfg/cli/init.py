"""``eaglecfg init``."""

from __future__ import annotations

from pathlib import Path

import click

from eaglecfg.cli.output import hub_settings, tell, traceback_option
from eaglecfg.cli.written import refuse_existing, write_new
from eaglecfg.engines.table import known_versions
from eaglecfg.errors import UsageError
from eaglecfg.review.init import OFF, Wanted, parsed, place, write
from eaglecfg.rules.context import Checkpoints
from eaglecfg.rules.model import Severity
from eaglecfg.rules.runner import validate

ENGINE = "sglang"
INCOMPLETE = 3


@click.command("init")
@click.argument("target")
@click.argument("draft")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), help="Write to this file, which must be new."
)
@click.option("--name", help="Name of the deployment; default: after the target.")
@click.option("--tp-size", type=click.IntRange(1, 1024), help="Tensor-parallel ranks.")
@click.option(
    "--engine-version",
    metavar="VERSION",
    help="The engine's version; installed: of the Python that runs eaglecfg. Default: the newest known.",
)
@click.option(
    "--online", is_flag=True, help="Fetch config files and tensor headers of hub ids; never weights."
)
@click.option("--schema", metavar="PATH", help="Path or address of the JSON Schema, for the file's modeline.")
@traceback_option
def command(
    target: str,
    draft: str,
    output: Path | None,
    name: str | None,
    tp_size: int | None,
    engine_version: str | None,
    online: bool,
    schema: str | None,
) -> int:
    """Make a commented eaglecfg.yaml for the checkpoints TARGET and DRAFT, folders or hub ids.

    DRAFT may be the word off. Sizes and capture layer ids come from the checkpoints' files. The file is
    checked as validate would check it, and what that finds is counted on stderr.
    """
    here = Path.cwd()
    output = None if output == Path("-") else output
    refuse_existing(output)
    folder = (here / output).parent if output is not None else here
    shown = str(output) if output is not None else "eaglecfg.yaml"
    version, remark = _version(engine_version)
    wanted = Wanted(
        target=place(target, here, folder),
        draft=None if draft == OFF else place(draft, here, folder),
        version=version,
        version_remark=remark,
        tp_size=tp_size,
        name=name,
        schema=schema,
    )
    checkpoints = Checkpoints(hub=hub_settings(online=online))
    text = write(wanted, shown, folder, checkpoints)
    write_new(text, output)
    report = validate([parsed(text, shown, folder)], checkpoints=checkpoints)
    counts = [(severity, report.count(severity)) for severity in (Severity.ERROR, Severity.WARNING)]
    words = ", ".join(f"{count} {severity}{'' if count == 1 else 's'}" for severity, count in counts)
    unread = "; what it names could not all be read" if report.exit_code() == INCOMPLETE else ""
    hint = "; eaglecfg validate tells more" if any(count for _, count in counts) or unread else ""
    tell(f"{shown}: validate finds {words}{unread}{hint}")
    return 0


def _version(asked: str | None) -> tuple[str, str]:
    """The engine's version, and where it comes from."""
    if asked is None:
        return known_versions(ENGINE)[-1], "the newest that eaglecfg knows; write the one that will run"
    if asked != "installed":
        return asked, ""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(ENGINE), "as installed where this file was made"
    except PackageNotFoundError:
        raise UsageError(
            f"--engine-version installed: the Python that runs eaglecfg has no {ENGINE}; name the version"
        ) from None
