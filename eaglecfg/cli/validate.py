"""``eaglecfg validate``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from eaglecfg.cli.live import live_options, looker
from eaglecfg.cli.output import hub_settings, read_files, split_names, traceback_option
from eaglecfg.cli.report_output import COMPARED, Outputs, report_options
from eaglecfg.errors import UsageError
from eaglecfg.rules.context import Checkpoints
from eaglecfg.rules.model import Need
from eaglecfg.rules.registry import chosen, matching
from eaglecfg.rules.runner import Ask, Options, Weigh, validate
from eaglecfg.source.document import Document


@click.command("validate")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--deployment", "-d", multiple=True, help="Check this deployment only; may be repeated.")
@click.option("--select", multiple=True, metavar="RULE", help="Run these rules only (id, slug or EC2).")
@click.option("--ignore", multiple=True, metavar="RULE", help="Leave these rules out.")
@click.option("--require", multiple=True, metavar="RULE", help="Exit 3 if one of these could not be checked.")
@click.option("--strict", is_flag=True, help="Exit 3 if any rule could not be checked.")
@click.option("--deep", is_flag=True, help="Open every shard; compare target_sha256.")
@click.option(
    "--weights",
    is_flag=True,
    help="Read the values of the draft's weights: NaN, zeros, holes; never the target's.",
)
@click.option(
    "--online", is_flag=True, help="Fetch config files and tensor headers of hub ids; never weights."
)
@click.option(
    "--engine-version",
    metavar="A,B,...",
    help="Compare engine versions: what changes from each to the next; one alone with the file's.",
)
@click.option(
    "--with-engine", is_flag=True, help="Ask the installed engine too what it makes of the arguments."
)
@click.option(
    "--engine-python", metavar="PYTHON", help="The Python that has it, with --with-engine; default: ours."
)
@click.option(
    "--baseline", metavar="FILE", help="Count only findings that this file does not list as old ones."
)
@click.option("--write-baseline", metavar="FILE", help="List all findings in this file as old ones.")
@live_options
@report_options
@traceback_option
def command(
    outputs: Outputs,
    live: dict[str, Any] | None,
    files: tuple[str, ...],
    deployment: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    require: tuple[str, ...],
    strict: bool,
    deep: bool,
    weights: bool,
    online: bool,
    engine_version: str | None,
    with_engine: bool,
    engine_python: str | None,
    baseline: str | None,
    write_baseline: str | None,
) -> int:
    """Check config and study files against the checkpoints and the engine they name.

    Reads FILE, or the eaglecfg.yaml of this folder. Needs no GPU, and no weights without --weights. Hub
    ids are looked for in the local hub cache; nothing goes to the network without --online or --live.
    """
    wanted, unwanted = split_names(select, "--select"), split_names(ignore, "--ignore")
    required = split_names(require, "--require")
    _refuse_unread([] if weights else [*wanted, *required])
    rules = chosen(wanted, unwanted, live=live is not None, weights=weights)
    if strict:
        required = [rule.id for rule in rules]
    documents = read_files(files)
    inputs = _inputs(documents) if outputs.targets or write_baseline is not None else []
    outputs.keep_off(inputs)
    options: Options = {
        "select": wanted,
        "ignore": unwanted,
        "require": required,
        "deployments": deployment,
        "deep": deep,
        "hub": hub_settings(online=online),
    }
    if engine_version is not None:
        _refuse_versions(with_engine, baseline or write_baseline, live, weights=weights)
        outputs.only(COMPARED, "--engine-version puts several versions side by side")
        from eaglecfg.cli.versions import compare

        return compare(documents, engine_version, options, outputs)
    checkpoints = Checkpoints(deep, options["hub"])
    asked = _asker(with_engine, engine_python)
    look = looker(live, documents, deployment) if live is not None else None
    weigh = _weigher(quiet=outputs.shown.quiet) if weights else None
    report = validate(documents, ask=asked, look=look, weigh=weigh, checkpoints=checkpoints, **options)
    folders = [Path(each.folder) for each in checkpoints.read]
    outputs.keep_off(folders)
    if baseline is not None or write_baseline is not None:
        from eaglecfg.cli.baselines import with_baselines

        inputs += folders
        report = with_baselines(report, baseline, write_baseline, rules, inputs, outputs)
    outputs.write(report)
    return report.exit_code(outputs.shown.fail_on)


def _refuse_versions(
    with_engine: bool, baseline: str | None, live: dict[str, Any] | None, *, weights: bool
) -> None:
    """Raise UsageError for options that several engine versions side by side leave no sense to."""
    if with_engine:
        raise UsageError("--with-engine asks the installed version alone; leave --engine-version out")
    if baseline:
        raise UsageError("a baseline is of one engine version; leave --engine-version out")
    if live is not None:
        raise UsageError("--live compares one server with the version named; leave --engine-version out")
    if weights:
        raise UsageError("--weights reads the same values for every version; leave --engine-version out")


def _asker(with_engine: bool, python: str | None) -> Ask | None:
    if not with_engine:
        if python is not None:
            raise UsageError("--engine-python names the engine that --with-engine asks; give both")
        return None
    from eaglecfg.cli.with_engine import asker

    return asker(python)


def _refuse_unread(names: Sequence[str]) -> None:
    """Raise UsageError for a name that stands for rules about values alone: they would look at nothing."""
    for name in names:
        rules = matching(name)
        if all(Need.WEIGHTS in rule.needs for rule in rules):
            raise UsageError(f"{name} looks at the values of the draft's weights; give --weights too")


def _weigher(*, quiet: bool) -> Weigh:
    from eaglecfg.cli.weights_progress import progress
    from eaglecfg.rules.weights.reading import weigher

    return weigher(None if quiet else progress)


def _inputs(documents: Sequence[Document]) -> list[Path]:
    from eaglecfg.cli.files import inputs_of

    return inputs_of(documents)
