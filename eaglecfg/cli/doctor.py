"""``eaglecfg doctor``: what this machine has, and what is wrong with it."""

from __future__ import annotations

import os
import pwd
import sys
from pathlib import Path

import click

from eaglecfg import __version__
from eaglecfg.cli.numbers import FiniteRange
from eaglecfg.cli.output import (
    color_option,
    columns,
    json_errors,
    read_files,
    refuse_empty,
    traceback_option,
    write,
)
from eaglecfg.engines.arguments import arguments
from eaglecfg.errors import UsageError
from eaglecfg.machine.declared import not_compared
from eaglecfg.machine.diagnosis import diagnose
from eaglecfg.machine.findings import SEVERITIES, reaches
from eaglecfg.machine.nvml import open_nvml
from eaglecfg.machine.places import Places
from eaglecfg.machine.servers import DEFAULT_PORT
from eaglecfg.machine.survey import PYTHON_LIMIT_S, survey
from eaglecfg.schema.load import load_config
from eaglecfg.schema.loaded import LoadedConfig, LoadedDeployment

INCOMPLETE = 3


@click.command("doctor")
@click.option(
    "--python",
    metavar="PYTHON",
    help="The Python that runs the server; its torch, NCCL and SGLang are looked at. Default: ours.",
)
@click.option("--config", metavar="FILE", help="Compare the machine with what this config declares.")
@click.option(
    "--deployment", "-d", multiple=True, help="With --config: this deployment only; may be repeated."
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@color_option
@click.option(
    "--fail-on",
    type=click.Choice(list(SEVERITIES)),
    default="error",
    show_default=True,
    help="The least severe finding that gives exit code 1.",
)
@click.option("--strict", is_flag=True, help="Exit 3 if anything could not be seen.")
@click.option(
    "--time-limit",
    type=FiniteRange(0.1, 600),
    default=PYTHON_LIMIT_S,
    show_default=True,
    metavar="SECONDS",
    help="How long PYTHON may take to answer.",
)
@traceback_option
@json_errors
def command(
    python: str | None,
    config: str | None,
    deployment: tuple[str, ...],
    form: str,
    color: str,
    fail_on: str,
    strict: bool,
    time_limit: float,
) -> int:
    """Look at this machine: GPUs and links, driver, torch, NCCL, SGLang, environment, leftovers, ports.

    Only reads: it changes nothing, ends nothing, and imports neither torch nor SGLang. Prints the hardware
    block of this machine, and what is wrong. Exit codes: 0 nothing wrong, 1 findings, 2 usage, 3 with
    --strict: something was not seen.
    """
    refuse_empty("--python", python)
    loaded, chosen = _deployments(config, deployment)
    machine = survey(
        open_nvml(),
        python or sys.executable,
        os.environ,
        Places(home=_home()),
        os.getpid(),
        port=_port(chosen),
        limit_s=time_limit,
    )
    findings = diagnose(machine, loaded, chosen)
    unseen = [*machine.unseen, *(one for each in chosen for one in not_compared(machine, each))]
    code = 1 if reaches(findings, fail_on) else INCOMPLETE if strict and unseen else 0
    if form == "json":
        from eaglecfg.report.doctor_json import as_json

        click.echo(as_json(machine, findings, unseen, code, version=__version__), nl=False)
    else:
        from eaglecfg.report.doctor import render

        write(render(machine, findings, unseen, version=__version__, width=columns()), color)
    return code


def _home() -> Path | None:
    """The user's home as NCCL finds it: by the list of users, not by HOME."""
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return None


def _deployments(
    config: str | None, names: tuple[str, ...]
) -> tuple[LoadedConfig | None, tuple[LoadedDeployment, ...]]:
    """The config and those of its deployments that are compared. Raises UsageError or ConfigUnreadable."""
    if config is None:
        if names:
            raise UsageError("--deployment chooses a deployment of --config; give both")
        return None, ()
    loaded = load_config(read_files([config])[0])
    if not loaded.deployments:
        raise UsageError(f"{config} has no deployment to compare with; eaglecfg validate {config} says why")
    known = {each.name: each for each in loaded.deployments}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(
            f"{config} has no deployment {unknown[0]!r} to compare with; it has {', '.join(known)}"
        )
    return loaded, tuple(known[name] for name in dict.fromkeys(names)) if names else loaded.deployments


def _port(deployments: tuple[LoadedDeployment, ...]) -> int:
    for each in deployments:
        found = arguments(each.model).get("port")
        port = None if found is None else found.value
        if isinstance(port, int) and not isinstance(port, bool) and 0 < port < 65536:
            return port
    return DEFAULT_PORT
