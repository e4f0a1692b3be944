"""Some target classes hand out states without their residual."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.capture.ids import engine_line, target_config
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Finding, Item, Need, Rule, Severity, Today
from eaglecfg.rules.versions import all_versions, in_words


def check(context: Context) -> Iterator[Item]:
    """A captured state must be the whole residual stream."""
    found = context.boundaries
    assert found is not None
    if found.outcome != "captured" or found.residual:
        return
    target = target_config(context)
    affected, good = _versions(context)
    yield Finding(
        f"{engine_label(context)} hands out the states of {target.architecture} without the residual "
        f"(a fault of sglang {affected})",
        path=("engine", "version"),
        related=((context.where("target", "checkpoint"), f"a target of class {target.architecture}"),),
        why="the draft was trained on the whole residual stream and reads a part of it: the accept "
        "length falls to about 1, and nothing is logged",
        help=f"run sglang {good}, or set speculative: off" if good else "set speculative: off",
        evidence=(config_line(target, "architectures", "class of the target"), engine_line(context)),
        values={"target_architecture": target.architecture, "affected_versions": affected},
    )


def _versions(context: Context) -> tuple[str, str]:
    """Versions that omit the residual for this class, and those that capture it whole, in words."""
    assert context.engine is not None
    name = target_config(context).architecture or ""
    known = context.engine.known_versions
    rules = {facts.version: facts.captures.get(name) for facts in all_versions(context.engine)}
    bad = [version for version, rule in rules.items() if rule is not None and not rule.residual]
    good = [version for version, rule in rules.items() if rule is not None and rule.residual and rule.usable]
    return in_words(known, bad), in_words(known, good)


RULE = Rule(
    id="EC902",
    slug="residual-not-captured",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.TARGET_CONFIG, Need.DRAFT_CONFIG, Need.CAPTURE),
    follows=UNLOADABLE,
    research=("IDS-27",),
)
