"""A declared version of NCCL that is none."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.nccl.version import at_least, coded_version, declared_version
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import Finding, Fix, Item, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.nccl.view import settings


def check(ctx: Context) -> Iterator[Item]:
    """What is declared decides which variables exist, so that it must be a version."""
    hardware = ctx.model.hardware
    if hardware is None or (hardware.nccl_version is None and hardware.torch is None):
        yield NotApplicable()
        return
    text = hardware.nccl_version
    if text is None:
        yield from _torch(ctx, hardware.torch or "")
    elif declared_version(text) is None:
        meant, path = coded_version(text), ctx.where("hardware", "nccl_version")
        yield Finding(
            f"hardware.nccl_version is {text or 'empty'}, which is no version of NCCL and is not used",
            path=path,
            why="versions of NCCL are written 2.28.9, as its log says them at start; without one, that which "
            "torch brings is assumed",
            help=f"write {meant}" if meant else "write the version that NCCL's log names, or leave it out",
            fix=Fix(f"set nccl_version to {meant}", path, f'"{meant}"', True) if meant else None,
            values={"declared": text, "meant": meant},
        )
    elif settings(ctx) is not None and not _within(text):
        yield Finding(
            f"hardware.nccl_version is {text}, and the facts about NCCL end at {NEWEST_FACTS}",
            path=ctx.where("hardware", "nccl_version"),
            severity=Severity.INFO,
            today=Today.NOTHING,
            why="variables that came later are not known here, and others may have gone",
            help="take findings about names with a grain of salt, or upgrade eaglecfg",
        )


NEWEST_FACTS = "2.32.3"


def _within(text: str) -> bool:
    version = declared_version(text)
    return version is not None and at_least(NEWEST_FACTS, version)


def _torch(ctx: Context, torch: str) -> Iterator[Item]:
    if settings(ctx) is None:
        yield NotApplicable()
        return
    from eaglecfg.nccl.facts import nccl_of_torch
    from eaglecfg.rules.nccl.settings import look

    if nccl_of_torch(torch) is None:
        view = look(ctx)
        yield NotChecked(
            f"which NCCL torch {torch} brings is not known here, {view.version} is taken "
            f"({view.version_from}): declare hardware.nccl_version"
        )


RULE = Rule(
    id="EC642",
    slug="nccl-version-unusable",
    severity=Severity.WARNING,
    today=Today.NOTHING,
    check=check,
)
