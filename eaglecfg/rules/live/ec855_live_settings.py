"""The server runs a setting with another value than the config comes to."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Item, Need, Rule, Severity, Today


def check(ctx: Context) -> Iterator[Item]:
    """Compare every setting that the config gives, and that the server reports.

    A value that the engine was expected to rewrite, and did, is no difference.
    """
    from eaglecfg.rules.live.judge import MODELS, SPECULATION, UNSETTLED, option, same, shown

    running = ctx.running
    assert running is not None
    assert ctx.resolution is not None
    for setting in ctx.resolution.settings.values():
        name, found = setting.name, running.info.get(setting.name)
        if name in MODELS or name in SPECULATION or not running.says(name):
            continue
        if setting.origin in ("ignored", "unknown") or (setting.asked is None and found in UNSETTLED):
            continue
        wanted = setting.asked if setting.origin == "refused" else setting.runs
        if wanted is None or same(wanted, found):
            continue
        if setting.origin == "rewritten" and same(setting.asked, found):
            what = f"as asked, where a rewrite to {shown(setting.runs)} was expected"
        elif setting.origin == "rewritten":
            what = f"the config comes to {shown(wanted)} (asked for {shown(setting.asked)})"
        elif setting.asked is None:
            what = f"the config leaves it to the engine, which comes to {shown(wanted)}"
        else:
            what = f"the config asks for {shown(wanted)}"
        yield Finding(
            f"the server at {running.url} runs {name} {shown(found)}; {what}",
            path=ctx.argument_path(name),
            severity=None if setting.asked is not None else Severity.INFO,
            why=setting.why,
            help=f"start the server with {option(name)} {shown(wanted)}, or write {shown(found)}",
            evidence=(Evidence(f"{running.url}/server_info", name, shown(found)),),
            values={"setting": name, "running": found, "expected": setting.runs, "asked": setting.asked},
        )


RULE = Rule(
    id="EC855",
    slug="live-settings",
    severity=Severity.WARNING,
    today=Today.NOTHING,
    check=check,
    needs=(Need.RUNNING, Need.ENGINE),
)
