"""``eaglecfg tune status``, ``report`` and ``export``: looking at a study, from any shell, while it runs."""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from eaglecfg.cli.output import say, tell, traceback_option
from eaglecfg.cli.tune_check import check, show_check
from eaglecfg.errors import UsageError
from eaglecfg.tune.account import launches
from eaglecfg.tune.history import History
from eaglecfg.tune.ledger import LEDGER, Event, read_ledger
from eaglecfg.tune.opened import Opened, open_study

QUIET_S = 900.0
"""A ledger without a new line for this long is worth a word: no launch of a small study takes that."""

NOT_RUNNING = 1


def study_options(wrapped: Callable[..., Any]) -> Callable[..., Any]:
    """The study, where its record is, and the prefix that it ran with: as for ``tune`` itself."""
    for option in (
        traceback_option,
        click.option("--launch-prefix", metavar="COMMAND", help="The prefix that the study was run with."),
        click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder of the record."),
        click.argument("study", type=click.Path(dir_okay=False)),
    ):
        wrapped = option(wrapped)
    return wrapped


def _read(
    study: str, out: Path | None, prefix: str | None, budget: Mapping[str, Any] | None = None
) -> tuple[Opened, tuple[Event, ...], History]:
    """The study with its record; ``budget`` stands for that of its file."""
    from eaglecfg.cli.tune import split_words

    words = split_words(prefix, "--launch-prefix")
    opened = open_study(
        Path(study), shown=study, out=out, launch_anyway=True, prefix=words, budget=budget, looking=True
    )
    events = read_ledger(opened.folder / LEDGER)
    return opened, events, opened.history(events)


@click.command("status")
@study_options
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def status(study: str, out: Path | None, launch_prefix: str | None, form: str) -> int:
    """Tell whether the study STUDY runs, what it does now, how far it is and what leads.

    Reads the record only: nothing is locked, launched or changed. Exit code 1: it is not running.
    """
    from eaglecfg.tune.standing import budget_of, standing

    opened, events, history = _read(study, out, launch_prefix)
    found = standing(opened, events, time.time())
    if found.state == "running" and budget_of(events):
        opened, events, history = _read(study, out, launch_prefix, budget_of(events))
        found = standing(opened, events, time.time())
    if form == "json":
        click.echo(json.dumps({"version": 1, **asdict(found)}, indent=1))
    else:
        for line in _words(opened, found, history):
            say(line)
    return 0 if found.state == "running" else NOT_RUNNING


def _words(opened: Opened, found: Any, history: History) -> list[str]:
    from eaglecfg.cli.tune_progress import best_words
    from eaglecfg.tune.plan import duration, near
    from eaglecfg.tune.ranking import luck_taken_off

    by = f" (pid {found.pid})" if found.pid is not None else ""
    lines = [f"{found.name}: {found.state}{by}{f': {found.why}' if found.why else ''}"]
    if opened.design.step_cost is not None:
        lines.append(f"  STEP COST ONLY: acceptance is simulated at {opened.design.step_cost:.2f}")
    if found.now is not None:
        now = found.now
        why = " to fill caches" if now.fills_caches else ""
        lines.append(f"  now      launch {now.n}{why}, {now.label}, {now.doing} for {duration(now.seconds)}")
    left = f", {found.left} left, about {duration(found.left_s)}" if found.left else ""
    lines.append(f"  done     {launches(found.done)}{left}")
    if found.ends_at is not None:
        lines.append(f"  ends     by {datetime.datetime.fromtimestamp(found.ends_at):%Y-%m-%d %H:%M}")
    if found.aside:
        lines.append(f"  aside    {launches(found.aside)}, {found.aside_why}")
    if found.failures:
        kinds = ", ".join(f"{count} {name}" for name, count in sorted(found.failures.items()))
        lines.append(f"  failed   {kinds}")
    if found.best is not None:
        best = best_words(*found.best, drawn=luck_taken_off(history))
        lines.append(f"  leading  {best.removeprefix('best ')}")
    if found.state == "running" and found.quiet_s is not None and found.quiet_s > QUIET_S:
        lines.append(f"  quiet    nothing was written to the record for {duration(found.quiet_s)}")
    lines.append(f"  record   {near(opened.folder)}")
    return lines


@click.command("report")
@study_options
@click.option(
    "--format", "form", type=click.Choice(["text", "markdown", "json"]), default="text", show_default=True
)
def report(study: str, out: Path | None, launch_prefix: str | None, form: str) -> int:
    """Print what the study STUDY has come to so far, from its record.

    Exit code 1: nothing has been measured yet.
    """
    from eaglecfg.cli.tune import show_results
    from eaglecfg.tune.results import make_results
    from eaglecfg.tune.standing import standing
    from eaglecfg.tune.tables import as_json, headline, markdown

    opened, events, history = _read(study, out, launch_prefix)
    found = standing(opened, events, time.time())
    results = make_results(opened.design, history, found.why if found.state == "finished" else "")
    if form == "json":
        click.echo(json.dumps(as_json(opened.name, opened.conditions, results), indent=1, allow_nan=False))
    elif form == "markdown":
        say(markdown(headline(opened.name, results), results))
    else:
        show_results(results)
        show_check(opened, history)
    if found.aside:
        tell(f"set aside: {launches(found.aside)} of the record, {found.aside_why}")
    return 0 if any(item.ok for item in history.launches) else NOT_RUNNING


@click.command("export")
@study_options
@click.option(
    "--sqlite",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="The new file; optuna-dashboard sqlite:///FILE opens it.",
)
def export(study: str, out: Path | None, launch_prefix: str | None, sqlite: Path) -> int:
    """Write the launches of the study STUDY to a SQLite file that optuna-dashboard opens.

    The file is for looking only: the record stays the truth, and nothing is read back.
    """
    from eaglecfg.tune import dashboard

    opened, events, history = _read(study, out, launch_prefix)
    if not history.launches:
        raise UsageError(f"{study}: no launch has finished yet, so there is nothing to export.")
    count = dashboard.export(opened, history, events, sqlite)
    are = "is" if count == 1 else "are"
    click.echo(f"{launches(count)} {are} in {sqlite}; look at them with: optuna-dashboard sqlite:///{sqlite}")
    return 0


COMMANDS = {"check": check, "status": status, "report": report, "export": export}
