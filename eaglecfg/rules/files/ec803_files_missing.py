"""Weight files that the checkpoint itself speaks of must be there."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.files.problems import findings
from eaglecfg.rules.model import Item, Rule, Severity, Today

PARTS = ("missing-shard", "missing-number", "missing-file")


def check(context: Context) -> Iterator[Item]:
    """Nothing to load, a file of the index that is absent, a gap in the numbers, a symlink into nothing."""
    skips = context.engine is not None and context.engine.values.get("missing_shards") == "skipped"
    yield from findings(context, "no-weights", why="SGLang stops when it finds no file to load")
    yield from findings(
        context,
        *PARTS,
        why=(
            "SGLang before 0.5.17 skips a file that the index names and leaves its tensors as they were "
            "allocated; later versions refuse to start"
        ),
        today=Today.SILENT if skips else None,
    )


RULE = Rule(
    id="EC803",
    slug="weight-files-missing",
    severity=Severity.ERROR,
    today=Today.REFUSED,
    check=check,
    research=("SHP-26",),
)
