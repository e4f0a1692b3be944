"""``eaglecfg tune check``: what this machine can show, before a night is spent on it."""

from __future__ import annotations

import os
from pathlib import Path

import click

from eaglecfg.cli.output import say, tell, traceback_option
from eaglecfg.tune.history import History
from eaglecfg.tune.machine_check import LAUNCHES, check_lines, good_checks, make_check
from eaglecfg.tune.opened import Opened, open_study

NOT_MEASURED = 1


@click.command(
    "check",
    epilog="Exit codes: 0 done, 1 the baseline could not be measured, 2 usage or unreadable file, "
    "4 internal error, 130 interrupted.",
)
@click.argument("study", type=click.Path(dir_okay=False))
@click.option(
    "--launches",
    type=click.IntRange(min=2),
    default=LAUNCHES,
    show_default=True,
    help="Fresh launches of the baseline; those of an earlier check count.",
)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder of the study's record.")
@click.option(
    "--launch-prefix", metavar="COMMAND", help="Start servers with this instead of the study's prefix."
)
@click.option("--launch-anyway", is_flag=True, help="Launch a baseline that the validator refuses, too.")
@click.option("--retry-failed", is_flag=True, help="Launch the baseline again although it failed before.")
@traceback_option
def check(
    study: str,
    launches: int,
    out: Path | None,
    launch_prefix: str | None,
    launch_anyway: bool,
    retry_failed: bool,
) -> int:
    """Launch the baseline of STUDY a few times afresh, and tell which gain this machine can show.

    How far launches of one setting differ decides how many of them a gain takes. What is measured stays in
    the study's record: its plan uses it, its budget does not pay for it, and no claim rests on it. A check
    that was interrupted goes on with the same command.
    """
    from eaglecfg.cli.tune import require_extra, run_session, split_words
    from eaglecfg.cli.tune_checks import refuse_config, refuse_study
    from eaglecfg.tune.ready import check_prefix

    prefix = split_words(launch_prefix, "--launch-prefix")
    if not launch_anyway:
        refuse_study(study)
    opened = open_study(
        Path(study), shown=study, out=out, launch_anyway=launch_anyway, prefix=prefix, environ=os.environ
    )
    check_prefix(opened, prefix)
    if not launch_anyway:
        refuse_config(opened)
    require_extra()
    outcome = run_session(opened, retry_failed=retry_failed, check=launches)
    show_check(opened, outcome.history)
    if outcome.broken:
        tell(f"the check gave up: {outcome.finished}")
    return NOT_MEASURED if outcome.broken or len(good_checks(outcome.history)) < launches else 0


def show_check(opened: Opened, history: History) -> None:
    """Print what the launches of a check show, where there are any."""
    found = make_check(opened.design, history)
    if found is None:
        return
    click.echo()
    for line in check_lines(found):
        say(line)
    click.echo("Kept in the study's record: its plan uses it, its budget and its claim do not.")
