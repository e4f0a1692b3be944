"""Data-parallel attention on a target class that knows nothing of it."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.engines.reading import wrapping_class
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Evidence, Finding, Item, Need, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.parallel.ranks import ranks


def check(ctx: Context) -> Iterator[Item]:
    """A class that cuts its heads over all ranks does not fit a cache that is cut over one group."""
    assert ctx.engine is not None
    assert ctx.target is not None
    assert ctx.target.config is not None
    shared, name = ranks(ctx), ctx.target.config.architecture or ""
    if shared.groups == 1 or not shared.exact or wrapping_class(ctx.engine, ctx.resolution) is not None:
        yield NotApplicable()
        return
    source = ctx.engine.values["whole_group_heads"].get(name)
    if source is None:
        return
    read_in = ctx.engine.sources["whole_group_heads"].rpartition("(")[2].rstrip(")")
    yield Finding(
        f"{name} has no code for data-parallel attention: it cuts its heads over all {shared.tensor} ranks, "
        f"while the cache of keys and values is made for groups of {shared.attention}",
        path=shared.path,
        why="each group has tokens of its own, but attention and MLP of this class add up over all ranks, "
        "which mixes the tokens of different groups or stops; this follows from the code and was not seen in "
        "a run",
        help=f"leave out enable_dp_attention and {shared.key}, or give each group a server of its own",
        evidence=(
            config_line(ctx.target.config, "architectures", "its class"),
            Evidence(read_in, source, "heads ÷ tp_size"),
        ),
        values={"architecture": name, "tp_size": shared.tensor, "groups": shared.groups},
    )


RULE = Rule(
    id="EC422",
    slug="attention-groups-unaware",
    severity=Severity.WARNING,
    today=Today.CRASH_AT_FIRST_REQUEST,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG),
    follows=("EC408",),
)
