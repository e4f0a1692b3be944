"""A misspelled key inside ``eagle_config`` is a key that nothing reads."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.capture.ids import BLOCK, KEY, draft_config, ids_path
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context, engine_label
from eaglecfg.rules.evidence import key_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, Rule, Severity, Today

READ = (KEY, "use_aux_hidden_state", "num_aux_hidden_states")
"""Keys that decide what is captured. Others of the block are the draft class's own matter."""

LIKENESS = 0.85
"""Least share of letters in common that makes a misspelling: other keys of the block stay below."""


def check(context: Context) -> Iterator[Item]:
    """Keys close to one that is read, where the one that is read is not there."""
    draft = draft_config(context)
    block = draft.raw.get(BLOCK)
    if not isinstance(block, dict):
        yield NotApplicable()
        return
    missing = [key for key in READ if key not in block]
    for key in block:
        if key in READ or not missing:
            continue
        from difflib import get_close_matches  # a block rarely has further keys

        near = get_close_matches(str(key).lower().replace("-", "_"), missing, n=1, cutoff=LIKENESS)
        if near:
            yield Finding(
                f"{draft.file}: {BLOCK} has {key}, which nothing reads; the nearest key is {near[0]}",
                path=ids_path(context),
                why=f"{engine_label(context)} looks for {near[0]}, and takes its default without a word",
                help=f"rename {key} to {near[0]}",
                evidence=(key_line(draft, f"{BLOCK}.{key}", "not read"),),
                values={"key": str(key), "nearest": near[0]},
            )


RULE = Rule(
    id="EC236",
    slug="eagle-config-key",
    severity=Severity.WARNING,
    today=Today.IGNORED,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    follows=("EC202", *UNLOADABLE),
)
