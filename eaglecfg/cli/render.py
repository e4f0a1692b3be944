"""``eaglecfg render``."""

from __future__ import annotations

from pathlib import PurePath
from typing import cast

import click

from eaglecfg.cli.output import hub_settings, read_files, tell, traceback_option
from eaglecfg.engines.table import load_facts
from eaglecfg.errors import UsageError
from eaglecfg.review.render.form import FORMS, IN_CONTAINERS, Form, default_image, render, unreachable
from eaglecfg.review.render.unresolved import RULE, unresolved
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.runner import validate
from eaglecfg.schema.load import load_config
from eaglecfg.schema.loaded import LoadedConfig, LoadedDeployment


@click.command("render")
@click.argument("file", required=False)
@click.option("--deployment", "-d", help="The deployment to render, where the file has several.")
@click.option("--as", "form", type=click.Choice(FORMS), default="shell", show_default=True, help="Its form.")
@click.option("--port", type=click.IntRange(1, 65535), help="Serve on this port, whatever the file says.")
@click.option("--python", default="python3", show_default=True, help="The Python that has the engine.")
@click.option("--image", help="The container image; default: lmsysorg/sglang of the file's version.")
@click.option("--force", is_flag=True, help="Render what validate finds errors in, too.")
@traceback_option
def command(
    file: str | None,
    deployment: str | None,
    form: str,
    port: int | None,
    python: str,
    image: str | None,
    force: bool,
) -> int:
    """Print the exact launch of a deployment of FILE: a shell script, an env file for docker run --env-file,
    a compose service or a Kubernetes Deployment.

    The same file gives the same text, everywhere. Secrets are never written: the launch takes them from the
    environment, or from a Kubernetes secret. A deployment in which validate finds errors is refused (exit
    code 1); --force renders it and leaves the findings on stderr. One with a value that is TODO, or holds a
    placeholder such as ${MODEL} or $(hostname), is never rendered, unless the file accepts EC640 there.
    """
    if image is not None and form not in IN_CONTAINERS:
        raise UsageError(f"--image is for --as compose and kubernetes; --as {form} starts no container")
    if not python:
        raise UsageError("--python takes the name of a program, got an empty one")
    document = read_files([file] if file else [])[0]
    config = load_config(document)
    chosen = _chosen(config, deployment)
    report = validate([document], deployments=(chosen.name,) if chosen else (), hub=hub_settings())
    if chosen is None or config.engine is None:
        if report.count(Severity.ERROR):
            _tell(report)
        raise UsageError(f"{document.name} has no deployment to render" + _why(report))
    facts = load_facts(config.engine.name, config.engine.version)
    accepted = {one.found.finding.path for one in report.accepted if one.found.rule.id == RULE}
    if open_value := unresolved(chosen, facts, accepted):
        raise UsageError(f"{document.name}: {chosen.name}: {open_value}; not rendered")
    errors = report.count(Severity.ERROR)
    if errors:
        _tell(report)
    if errors and not force:
        count = "1 error" if errors == 1 else f"{errors} errors"
        tell(f"{document.name}: {count} in {chosen.name}; not rendered (--force overrides)")
        return 1
    text = render(
        chosen.name,
        chosen.model,
        config.engine,
        facts,
        cast(Form, form),
        python=python,
        port=port,
        image=image,
        config=PurePath(document.name).name or "eaglecfg.yaml",
    )
    if form in IN_CONTAINERS and image is None:
        tell(
            f"image: {default_image(config.engine)}, from the engine's version; --image names another",
        )
    if form in IN_CONTAINERS and (host := unreachable(chosen.model, facts)):
        tell(f"server.host is {host}: in a container nobody outside reaches the server there")
    click.echo(text, nl=False)
    return 0


def _chosen(config: LoadedConfig, wanted: str | None) -> LoadedDeployment | None:
    found = {each.name: each for each in config.deployments}
    if wanted is None and len(found) <= 1:
        return next(iter(found.values()), None)
    if wanted not in found:
        names = ", ".join(found) or "none that can be read"
        if wanted is None:
            raise UsageError(f"{config.document.name} has several deployments; name one with -d: {names}")
        raise UsageError(f"{config.document.name} has no deployment {wanted!r} to render; it has {names}")
    return found[wanted]


def _why(report: Report) -> str:
    first = next((found.finding.message for found in report.findings), "")
    return f": {first}" if first else ""


def _tell(report: Report) -> None:
    """The errors on stderr, one line each."""
    from eaglecfg.record import replace
    from eaglecfg.report.concise import render as concise
    from eaglecfg.report.styled import plain

    errors = [found for found in report.findings if found.severity is Severity.ERROR]
    tell(plain(concise(replace(report, findings=tuple(errors)))).removesuffix("\n"))
