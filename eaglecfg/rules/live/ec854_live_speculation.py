"""The server speculates in another shape than the config asks for, or not at all."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotChecked, Rule, Severity, Today


def check(ctx: Context) -> Iterator[Item]:
    """Compare algorithm and shape with what the engine was expected to make of the config."""
    from eaglecfg.rules.live.judge import SPECULATION, option, same, shown

    running = ctx.running
    assert running is not None
    assert ctx.resolution is not None
    algorithm, ran = ctx.resolution.runs("speculative_algorithm"), running.info.get("speculative_algorithm")
    if not running.says("speculative_algorithm"):
        yield NotChecked("the server does not say whether it speculates")
        return
    source = f"{running.url}/server_info"
    if not same(algorithm, ran):
        yield Finding(
            f"the server at {running.url} runs speculative_algorithm {shown(ran)}, "
            f"the config comes to {shown(algorithm)}",
            path=ctx.argument_path("speculative_algorithm"),
            help="start the server with the command of this config, or change the config to what is wanted",
            evidence=(Evidence(source, "speculative_algorithm", shown(ran)),),
            values={"running": ran, "expected": algorithm},
        )
        return
    if not algorithm:
        return
    for name in SPECULATION[1:]:
        setting = ctx.resolution.get(name)
        found = running.info.get(name)
        if not running.says(name) or setting.runs is None or same(setting.runs, found):
            continue
        asked = f" (asked for {shown(setting.asked)})" if setting.origin == "rewritten" else ""
        yield Finding(
            f"the server at {running.url} runs {name} {shown(found)}, "
            f"the config comes to {shown(setting.runs)}{asked}",
            path=ctx.argument_path(name),
            severity=Severity.WARNING,
            help=f"start the server with {option(name)} {shown(setting.runs)}, or write {shown(found)}",
            why=setting.why,
            evidence=(Evidence(source, name, shown(found)),),
            values={"setting": name, "running": found, "expected": setting.runs, "asked": setting.asked},
        )


RULE = Rule(
    id="EC854",
    slug="live-speculation",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=check,
    needs=(Need.RUNNING, Need.ENGINE),
)
