"""Another version of the engine runs than the config names."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotChecked, Rule, Severity, Today


def check(ctx: Context) -> Iterator[Item]:
    """Compare engine.version with the server's; what the running one captures decides how bad it is."""
    running = ctx.running
    assert running is not None
    engine = ctx.config.engine
    if engine is None or not running.version:
        yield NotChecked(
            "needs engine.version in the config" if engine is None else "the server does not tell its version"
        )
        return
    if _plain(running.version) in (_plain(engine.version), ctx.engine.facts_of if ctx.engine else ""):
        return
    captured = _captured(ctx, running.version)
    own = ctx.boundaries.captured if ctx.boundaries is not None else None
    other = captured is not None and own is not None and captured != own
    wrong = other and (ctx.trained is None or captured != ctx.trained)
    message = f"{engine.name} {running.version} runs at {running.url}, but engine.version is {engine.version}"
    if other:
        message += f": it captures {list(captured or ())} for these files instead of {list(own or ())}"
    yield Finding(
        message,
        path=("engine", "version"),
        severity=Severity.ERROR if wrong else None,
        today=Today.SILENT if wrong else None,
        help=f"deploy {engine.version}, or write {running.version} and see what changes: "
        f"eaglecfg validate --engine-version {running.version}",
        evidence=(Evidence(f"{running.url}/server_info", "version", running.version),),
        values={
            "running": running.version,
            "named": engine.version,
            "captured": None if captured is None else list(captured),
        },
    )


def _plain(version: str) -> str:
    return version.removeprefix("v").partition("+")[0]


def _captured(ctx: Context, version: str) -> tuple[int, ...] | None:
    """The boundaries that ``version`` captures for the deployment's files."""
    from eaglecfg.engines.boundaries import boundaries_of
    from eaglecfg.engines.resolve import resolve
    from eaglecfg.engines.table import load_facts

    name = ctx.config.engine.name if ctx.config.engine is not None else ""
    facts = load_facts(name, version)
    if facts is None:
        return None
    target = ctx.target.config if ctx.target is not None else None
    draft = ctx.draft.config if ctx.draft is not None else None
    gpu = ctx.model.hardware.gpu if ctx.model.hardware is not None else None
    found = boundaries_of(
        facts,
        target,
        draft,
        resolve(facts, ctx.arguments or {}, target, draft, env=ctx.model.env, gpu=gpu),
    )
    return None if found is None else found.captured


RULE = Rule(
    id="EC852",
    slug="live-engine-version",
    severity=Severity.WARNING,
    today=Today.NOTHING,
    check=check,
    needs=(Need.RUNNING,),
)
