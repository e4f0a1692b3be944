"""``eaglecfg bench-allreduce``: which NCCL settings make the all-reduce of a deployment faster."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from eaglecfg.cli.bench_output import check_output
from eaglecfg.cli.bench_subject import Wanted, make_plan
from eaglecfg.cli.numbers import FiniteRange
from eaglecfg.cli.output import color_option, columns, json_errors, tell, traceback_option, write
from eaglecfg.errors import UsageError
from eaglecfg.nccl.bench.launches import Recorded, read_recorded
from eaglecfg.nccl.bench.plan import BenchPlan
from eaglecfg.report.styled import visible

FAILED = 1
INTERRUPTED = 130
SHOWING = ("recorded", "form", "color")
"""Parameters that decide how results are shown, not how they come about."""


@click.command(
    "bench-allreduce",
    epilog="Exit codes: 0 all settings were measured, 1 a setting failed or a sum was wrong, 2 usage or an "
    "unreadable file, 4 internal error, 130 interrupted (what was measured is shown).",
)
@click.option("--config", "-c", metavar="FILE", help="Take the message sizes from a deployment of this file.")
@click.option("--deployment", "-d", metavar="NAME", help="The deployment; needed where the file has several.")
@click.option("--batch", multiple=True, metavar="N,N", help="Batch sizes of the deployment.  [default: 1,8]")
@click.option("--bytes", "sizes", multiple=True, metavar="SIZE,SIZE", help="Message sizes: 56KiB,1MiB.")
@click.option(
    "--setting",
    multiple=True,
    metavar="TEXT",
    help="'NCCL_PROTO=LL NCCL_ALGO=Ring', or default; may be repeated.",
)
@click.option(
    "--settings",
    "lists",
    multiple=True,
    metavar="LIST",
    help="A ready list (common, engine, protocols) or a study file, for its NCCL space.  [default: common]",
)
@click.option(
    "--processes",
    type=click.IntRange(1, 50),
    default=3,
    show_default=True,
    help="Timed launches of each setting, each in fresh processes.",
)
@click.option("--ranks", type=click.IntRange(2, 64), help="Processes of a launch, one GPU each.")
@click.option("--dtype", metavar="NAME", help="bfloat16, float16 or float32; the deployment's by default.")
@click.option("--backend", type=click.Choice(["nccl", "gloo"]), default="nccl", show_default=True)
@click.option(
    "--python", metavar="PATH", help="The Python that has torch, by default the one that runs this."
)
@click.option("--no-graph", is_flag=True, help="Time calls from Python instead of CUDA graph replays.")
@click.option(
    "--calls", type=click.IntRange(1, 1000), default=50, show_default=True, help="Calls per replay."
)
@click.option(
    "--replays", type=click.IntRange(3, 1000), default=20, show_default=True, help="Replays per pass."
)
@click.option(
    "--time-limit",
    type=FiniteRange(1, 600),
    default=15,
    show_default=True,
    help="Seconds without a step after which a launch is ended as hung.",
)
@click.option("--anyway", is_flag=True, help="Run settings that NCCL would not take as they are written.")
@click.option("--dry-run", is_flag=True, help="Print what would be launched, and launch nothing.")
@click.option(
    "--output",
    metavar="FILE",
    help="Append raw results, a line of JSON per launch; a new file, or one of earlier runs.",
)
@click.option(
    "--from", "recorded", metavar="FILE", help="Show the results of --output again; launch nothing."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
)
@color_option
@traceback_option
@json_errors
def command(
    form: str, color: str, recorded: str | None, output: str | None, dry_run: bool, **given: object
) -> int:
    """Time the all-reduce of a deployment's messages under NCCL settings, and say which differences are real.

    Every launch is a set of fresh processes, one per GPU. Each setting is first checked in a launch of its
    own: sums on every rank, eager and in a CUDA graph, in three dtypes, while NCCL logs what it chose. Timed
    launches follow in interleaved rounds. A launch that hangs is ended, its setting counts as failed and the
    others go on.

    The environment is handed on as it is; a setting adds its variables to it.
    """
    if recorded is not None:
        _alone()
        return _show(read_recorded(Path(recorded)), form, color)
    if output is not None:
        check_output(output)
    plan = make_plan(Wanted(**given), dict(os.environ), note)  # type: ignore[arg-type]
    if dry_run:
        from eaglecfg.cli.bench_progress import plan_lines

        click.echo("\n".join(plan_lines(plan, columns())))
        return 0
    return _run(plan, output, form, color)


def _alone() -> None:
    """Refuse what cannot act on results that are there already. Raises UsageError."""
    context = click.get_current_context()
    for option in context.command.params:
        name = option.name or ""
        if name in SHOWING or context.get_parameter_source(name) != ParameterSource.COMMANDLINE:
            continue
        raise UsageError(
            f"--from shows results that are there; {option.opts[0]} has nothing to act on, leave it out"
        )


def note(text: str) -> None:
    """Progress, warnings and the like."""
    tell(visible(text))


def _run(plan: BenchPlan, output: str | None, form: str, color: str) -> int:
    from eaglecfg.cli.bench_progress import Progress, Raw, plan_lines
    from eaglecfg.tune.collective_lease import leased
    from eaglecfg.tune.collectives import Collectives
    from eaglecfg.tune.interrupts import Interrupts

    interrupted = False
    environment = dict(os.environ)
    with (
        leased(plan, environment, note),
        Raw(output, plan) as raw,
        Progress(plan, sys.stderr.isatty()) as progress,
    ):
        if len(plan.settings) > 1 and importlib.util.find_spec("scipy") is None:
            note("note: without scipy there are no intervals; --output keeps all results for a later --from")
        for text in plan_lines(plan, columns()):
            note(text)

        def hear(kind: str, about: Mapping[str, Any]) -> None:
            raw.hear(kind, about)
            progress.hear(kind, about)

        run = Collectives(plan, environment, hear)
        with Interrupts(
            lambda signal: progress.say(f"{signal}: ending the ranks; what was measured is shown")
        ):
            try:
                run.run()
                raw.end()
            except KeyboardInterrupt:
                interrupted = True
    if not run.launches and interrupted:
        note("interrupted before the first launch was finished")
        return INTERRUPTED
    return _show(Recorded(plan, tuple(run.launches), not interrupted), form, color, interrupted=interrupted)


def _show(recorded: Recorded, form: str, color: str, *, interrupted: bool = False) -> int:
    from eaglecfg import __version__
    from eaglecfg.report.bench_allreduce import as_json, markdown, render
    from eaglecfg.tune.collective_judge import judge

    if not recorded.launches:
        raise UsageError("there is no finished launch in these results")
    outcome = judge(recorded)
    code = INTERRUPTED if interrupted else FAILED if outcome.troubles or not outcome.measured else 0
    if form == "json":
        click.echo(as_json(outcome, code, version=__version__), nl=False)
    elif form == "markdown":
        click.echo(markdown(outcome), nl=False)
    else:
        write(render(outcome, columns()), color)
    return code
