"""``eaglecfg tune``: search settings with timed server launches."""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from eaglecfg.cli.numbers import FiniteRange
from eaglecfg.cli.output import say, tell, traceback_option
from eaglecfg.cli.tune_checks import refuse_config, refuse_study
from eaglecfg.errors import EaglecfgError, UsageError
from eaglecfg.tune.history import History
from eaglecfg.tune.ledger import LEDGER, Ledger, last_session, read_ledger
from eaglecfg.tune.look_around import look_around
from eaglecfg.tune.opened import Opened, open_study
from eaglecfg.tune.plan import near, plan_lines, time_plan
from eaglecfg.tune.ready import by_hand, check_budget, check_patches, check_prefix, nothing_left
from eaglecfg.tune.results import Results, make_results

if TYPE_CHECKING:
    from eaglecfg.tune.study import Outcome

NOTHING_MEASURED = 1
LOG = "progress.log"
"""What a study said while it ran, beside its ledger: the terminal may be gone by morning."""
INDENT = 14
VIEWS = ("check", "status", "report", "export")
"""Words that do something else with a study than running it; a study file of such a name is ``./status``."""


class Tune(click.Command):
    """``tune STUDY`` runs a study, ``tune status STUDY`` and its like look at one."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args and args[0] in VIEWS:
            from eaglecfg.cli.tune_views import COMMANDS as commands

            return commands[args[0]].make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command(
    "tune",
    cls=Tune,
    epilog="Exit codes: 0 done, 1 nothing or no baseline was measured or the study gave up, "
    "2 usage or unreadable file, 4 internal error, 130 interrupted.",
)
@click.argument("study", type=click.Path(dir_okay=False))
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the study's record. Default: .eaglecfg/studies/NAME beside the config.",
)
@click.option("--dry-run", is_flag=True, help="Print settings, launches and a time plan; launch nothing.")
@click.option(
    "--apply", "apply_winner", is_flag=True, help="Write the winner into the config, comments kept."
)
@click.option("--launch-anyway", is_flag=True, help="Launch settings that the validator refuses, too.")
@click.option("--keep-inert", is_flag=True, help="Search keys that cannot matter, too.")
@click.option(
    "--launch-prefix", metavar="COMMAND", help="Start servers with this instead of the study's prefix."
)
@click.option(
    "--retry-failed",
    is_flag=True,
    help="Launch settings again that failed before: the cause is mended (a package installed, a GPU freed).",
)
@click.option(
    "--no-proof", is_flag=True, help="Do not launch NCCL settings once more with NCCL's log on, at the end."
)
@click.option("--launches", type=click.IntRange(min=1), help="Budget in launches, instead of the study's.")
@click.option(
    "--hours", type=FiniteRange(min=0, min_open=True), help="Budget in hours, instead of the study's."
)
@click.option(
    "--until", metavar="HH:MM", help="End by this time of day, instead of the study's budget.until."
)
@click.option(
    "--then",
    metavar="COMMAND",
    help="Have sh -c run this once the study has ended; $EAGLECFG_STUDY, $EAGLECFG_ENDED and "
    "$EAGLECFG_RESULT tell it what came of it.",
)
@traceback_option
def command(
    study: str,
    out: Path | None,
    dry_run: bool,
    apply_winner: bool,
    launch_anyway: bool,
    keep_inert: bool,
    launch_prefix: str | None,
    retry_failed: bool,
    no_proof: bool,
    launches: int | None,
    hours: float | None,
    until: str | None,
    then: str | None,
) -> int:
    """Run the study STUDY, or go on with it: the same command resumes where it stopped.

    Every trial is a freshly launched server. What is not shown to be faster than the baseline is not called
    faster; that nothing beats it is a normal result.

    A setting that failed by itself is not launched again (one that hung or took too long to start is, once).
    A higher launch.startup_s launches those again that took too long. Other prefix, flags or environment of
    the launch, prompts or engine make other conditions: everything is measured anew, the record stays.

    Before that, "eaglecfg tune check STUDY" tells which gain this machine can show with how many launches.
    From any other shell, "eaglecfg tune status STUDY" tells how far it is, "tune report STUDY" what it has
    come to, and "tune export STUDY --sqlite FILE" writes a file for optuna-dashboard.
    """
    prefix = split_words(launch_prefix, "--launch-prefix")
    refuse_script(then)
    if not launch_anyway:
        refuse_study(study)
    opened = open_study(
        Path(study),
        shown=study,
        out=out,
        launch_anyway=launch_anyway,
        keep_inert=keep_inert,
        prefix=prefix,
        budget=_given(launches=launches, hours=hours, until=until),
        environ=os.environ,
    )
    check_prefix(opened, prefix)
    if not launch_anyway:
        refuse_config(opened)
    if apply_winner:
        check_patches(opened)
    require_extra()
    history = opened.history(read_ledger(opened.folder / LEDGER), look_around(opened)[0])
    warning = check_budget(opened, history, time.time())
    _print_plan(opened, history.retried() if retry_failed else history, warning)
    if dry_run:
        _list_arms(opened, history)
    refused = nothing_left(opened.design)
    if not opened.design.baselines:
        refused = "nothing would be launched: the validator refuses every baseline"
    if refused:
        tell(refused)
        return NOTHING_MEASURED
    return 0 if dry_run else _run(opened, apply_winner, then, retry_failed=retry_failed, proof=not no_proof)


def split_words(text: str | None, option: str) -> list[str]:
    """The words of a command given as one option. Raises UsageError for quotes that do not close."""
    try:
        return shlex.split(text or "")
    except ValueError as error:
        raise UsageError(f"{option}: {error} in {text}") from None


def refuse_script(text: str | None) -> None:
    """Raise UsageError where sh would not take ``--then`` in: better now than in the morning."""
    if text is None:
        return
    try:
        done = subprocess.run(["sh", "-n", "-c", text], capture_output=True, check=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"--then: sh -c cannot run it: {error}") from None
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split())
        raise UsageError(f"--then: sh does not understand {text!r}: {said[:200]}")


def _run_after(script: str, opened: Opened, ended: str) -> None:
    """The user's own command, run by sh -c. It hears of the study by its environment; that it failed is told,
    no more."""
    from eaglecfg.tune.tables import RESULT_MARKDOWN

    result = opened.folder / RESULT_MARKDOWN
    told = {
        "EAGLECFG_STUDY": opened.name,
        "EAGLECFG_ENDED": ended,
        "EAGLECFG_RESULT": str(result) if result.exists() else "",
    }
    sys.stdout.flush()
    try:
        code = subprocess.run(["sh", "-c", script], env={**os.environ, **told}, check=False).returncode
    except OSError as error:
        tell(f"--then: sh could not be run: {error.strerror}")
        return
    if code:
        tell(f"--then: {script} ended with exit code {code}")


def require_extra() -> None:
    """Say what is missing before anything is launched."""
    import importlib.util

    missing = [name for name in ("optuna", "scipy", "aiohttp") if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(f"tune needs {', '.join(missing)}: pip install 'eaglecfg[tune]'")


def _given(**options: Any) -> dict[str, Any]:
    """The options that were given."""
    return {name: value for name, value in options.items() if value is not None}


def _print_plan(opened: Opened, history: History, warning: str) -> None:
    for heading, text in plan_lines(opened, history):
        for index, piece in enumerate(_wrapped(text)):
            say(f"{heading if index == 0 else '':<{INDENT}}{piece}")
    if warning:
        tell(f"warning: {warning}")


def _wrapped(text: str) -> list[str]:
    import textwrap

    from eaglecfg.cli.output import columns

    return textwrap.wrap(text, max(columns() - INDENT, 40), break_on_hyphens=False, break_long_words=False)


def _list_arms(opened: Opened, history: History) -> None:
    from eaglecfg.source.secrets import redact_arguments, redact_environment
    from eaglecfg.tune.server_command import server_command

    design = opened.design
    done = f" ({len(history.launches)} launches are done)" if history.launches else ""
    click.echo(f"\ntime plan{f' of the whole study{done}' if done else ''}")
    for phase, launches, seconds in time_plan(opened, history):
        click.echo(f"  {phase:<10}{launches:>5} {'launch  ' if launches == 1 else 'launches'}  {seconds:>8}")
    click.echo("\narms" if design.arms else "\nbaselines; the space is too large to list")
    for arm in design.arms or design.baselines:
        given = server_command(opened, arm.deployment)
        shown = redact_environment(given.env)
        variables = " ".join(f"{name}={shlex.quote(shown[name])}" for name in given.env)
        say(f"  {arm.key}  {arm.label}")
        say(f"      {variables}{' ' if variables else ''}{shlex.join(redact_arguments(given.argv))}")


def run_session(opened: Opened, *, retry_failed: bool = False, proof: bool = True, check: int = 0) -> Outcome:
    """Run the study, or a machine check of ``check`` launches, until its end; what happens is shown and kept
    in its log. Raises KeyboardInterrupt once all is stopped."""
    from eaglecfg.cli.tune_progress import Kept, Lines, Live, Progress
    from eaglecfg.tune.interrupts import Interrupts
    from eaglecfg.tune.study import StudyRun

    place = look_around(opened)[0]
    with Ledger(opened.folder / LEDGER) as ledger:

        def history() -> History:
            return opened.history(ledger.events, place)

        def heard(signal: str) -> None:
            with contextlib.suppress(OSError):
                tell(
                    f"{signal}: stopping the server, then the study; what is finished is kept, and the same "
                    f"command goes on from there",
                )

        click.echo()
        screen = Kept(Live() if sys.stdout.isatty() else Lines(), opened.folder / LOG)
        with Interrupts(heard) as interrupts, screen:
            progress = Progress(opened, screen, history, check)
            options: dict[str, Any] = {"retry_failed": retry_failed, "proof": proof, "check": check}
            study = StudyRun(opened, ledger, interrupts, progress, **options)
            try:
                return study.run()
            except OSError as error:
                raise _full(opened, error) from error


def _run(opened: Opened, apply_winner: bool, after: str | None, *, retry_failed: bool, proof: bool) -> int:
    try:
        outcome = run_session(opened, retry_failed=retry_failed, proof=proof)
    except Exception:
        if after and after.strip() and _began(opened):
            _run_after(after, opened, "broke off")
        raise
    results = make_results(opened.design, outcome.history, outcome.finished)
    _report(opened, results)
    if outcome.broken:
        tell(f"the study gave up: {outcome.finished}")
    _offer(opened, results, apply_winner)
    if after and after.strip():
        _run_after(after, opened, "gave up" if outcome.broken else "finished")
    measured = any(item.ok for item in outcome.history.launches)
    return 0 if measured and not outcome.broken and results.lost is None else NOTHING_MEASURED


def _began(opened: Opened) -> bool:
    """Whether this process began a session of the study, or was refused before."""
    try:
        events = read_ledger(opened.folder / LEDGER)
    except (EaglecfgError, OSError):
        return False
    session = last_session(events)
    return session is not None and bool(session.data["pid"] == os.getpid())


def _full(opened: Opened, error: OSError) -> Exception:
    """A full disk in one sentence; any other error as it is."""
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return error
    return UsageError(
        f"{error.filename or near(opened.folder)}: {str(error.strerror).lower()}: every launch that is in "
        f"the record is kept; once there is space, the same command goes on from there."
    )


def _report(opened: Opened, results: Results) -> None:
    from eaglecfg.tune.tables import RESULT_MARKDOWN

    show_results(results)
    result, launches = near(opened.folder / RESULT_MARKDOWN), near(opened.folder / "launches")
    click.echo(f"\nwritten to {result}; every launch is under {launches}")


def show_results(results: Results) -> None:
    """Print the table and what it comes to."""
    from eaglecfg.tune.cycle import cycle_lines
    from eaglecfg.tune.tables import footnotes, header, remarks, table, text_table

    click.echo()
    for text in text_table(header(results), table(results), _table_width()) if results.rows else ():
        say(text)
    click.echo()
    for sentence in (*results.verdict, *cycle_lines(results.cycles), *remarks(results), *footnotes(results)):
        say("\n".join(_wrapped(sentence)))


def _table_width() -> int:
    """Columns that a table may take: those of the terminal, or COLUMNS."""
    import shutil

    from eaglecfg.tune.tables import WIDTH

    return shutil.get_terminal_size((WIDTH, 40)).columns


def _offer(opened: Opened, results: Results, apply_winner: bool) -> None:
    """Show the winner as a patch, and write it where that was asked for."""
    from eaglecfg.cli.files import write_whole
    from eaglecfg.tune.apply import make_patch
    from eaglecfg.tune.step_cost import rests_on_acceptance
    from eaglecfg.tune.tables import PATCH, replace_text, slower_winner

    for arm in results.barred if apply_winner else ():
        keys = ", ".join(rests_on_acceptance(arm))
        tell(
            f"not applied: {arm.label}: it changes {keys}, which only real acceptance can recommend, and "
            f"acceptance was simulated",
        )
    if results.winner is None:
        (opened.folder / PATCH).unlink(missing_ok=True)
        if apply_winner and results.lost is not None:
            tell(
                f"nothing to apply: {results.baseline} could not be measured; "
                "--retry-failed launches it again",
            )
        elif apply_winner:
            click.echo(f"nothing to apply: no setting was shown to be faster than {results.baseline}")
        return
    try:
        real = results.step_cost is None
        accepts = next((row.accept_length for row in results.rows if row.winner and real), None)
        patch = make_patch(opened.config, opened.deployment, results.winner.deployment, accepts)
    except UsageError as error:
        (opened.folder / PATCH).unlink(missing_ok=True)
        hand = f"write by hand for {opened.deployment.name}: {by_hand(results.winner)}"
        say(f"\nno patch is offered: {str(error).rstrip('.')}; {hand}")
        return
    replace_text(opened.folder / PATCH, patch.diff)
    click.echo(f"\n{patch.diff}", nl=False)
    if slower := slower_winner(results):
        tell(f"warning: this change makes the deployment slower at {slower}")
    document = opened.config.document
    path = Path(document.folder) / Path(document.name).name
    if not apply_winner:
        click.echo(f"\n--apply writes this to {document.name} (saved as {near(opened.folder / PATCH)})")
        return
    if path.read_bytes().decode("utf-8", "replace") != document.text:
        click.echo(
            f"{document.name} was edited since the study began, so nothing is written; "
            f"the change is saved as {near(opened.folder / PATCH)}",
            err=True,
        )
        return
    write_whole(path, patch.text.encode())
    click.echo(f"\n{document.name} is changed")
