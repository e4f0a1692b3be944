"""A suppression that names something that does not exist, or that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from eaglecfg.errors import UsageError
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Fix, Item, NotApplicable, Rule, Severity, Today
from eaglecfg.rules.schema.suppressions import holds_suppressions

if TYPE_CHECKING:
    from eaglecfg.rules.suppression import Mark

_WHY = "it accepts nothing, while whoever wrote it thinks that it does"
_FORM = "write # eaglecfg: ignore[EC302] and the reason behind it"


def check(context: Context) -> Iterator[Item]:
    """Comments must be readable; rules and deployments that are named must exist."""
    document = context.config.document
    if not holds_suppressions(document):
        yield NotApplicable()
        return
    from eaglecfg.rules.suppression import marks_of

    held = document.data.get("deployments") if isinstance(document.data, dict) else None
    for mark in marks_of(document):
        if mark.slip:
            yield Finding(mark.slip, span=mark.span, why=_WHY, help=_FORM)
        for name in mark.unknown:
            message, help = _unknown(name)
            near = help.removeprefix("did you mean ").removesuffix("?") if help.startswith("did") else ""
            fix = Fix(f"write {near}", (*mark.path, "rule"), near, safe=False) if near and mark.path else None
            yield Finding(message, path=mark.path, span=mark.span, why=_WHY, help=help, fix=fix)
        if mark.deployment is not None and isinstance(held, dict) and mark.deployment not in held:
            yield _deployment(mark, [*held])


def _unknown(name: str) -> tuple[str, str]:
    """What is wrong with the name of a rule, and what to write."""
    from eaglecfg.rules.registry import matching  # the registry lists this rule

    try:
        several = matching(name)
    except UsageError as error:
        message, _, hint = str(error).partition("; ")
        return f"a suppression names {name!r}: {message}", hint or "remove it"
    first = ", ".join(rule.id for rule in several[:3])
    message = f"a suppression names {name!r}, which stands for {len(several)} rules"
    return message, f"name each rule whose finding is accepted, as {first}"


def _deployment(mark: Mark, names: list[str]) -> Finding:
    known = ", ".join(names[:5])
    return Finding(
        f"a suppression names the deployment {mark.deployment!r}, and the file has {known or 'none'}",
        path=(*mark.path, "deployment"),
        why=_WHY,
        help="write the name of a deployment of this file, or leave deployment out to mean all of them",
    )


RULE = Rule(
    id="EC122",
    slug="suppression-unknown",
    severity=Severity.ERROR,
    today=Today.NOTHING,
    check=check,
    scope="report",
)
