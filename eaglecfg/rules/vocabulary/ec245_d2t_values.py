"""EC245: d2t entries that point outside the target's vocabulary, or two to one token."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, tensor_line
from eaglecfg.rules.model import Finding, Item, Need, Rule, Severity, Today
from eaglecfg.rules.vocabulary.facts import StoredMap, draft_tensor, stored_map
from eaglecfg.rules.vocabulary.mapping import Mapping, read_mapping


def check(ctx: Context) -> Iterator[Item]:
    stored = stored_map(ctx)
    if not isinstance(stored, StoredMap):
        yield stored
        return
    mapping = read_mapping(stored.entries, stored.target, None)
    if mapping.outside:
        yield _outside(ctx, mapping)
    elif mapping.repeated:
        yield _repeated(ctx, mapping)


def _outside(ctx: Context, mapping: Mapping) -> Finding:
    assert ctx.target is not None
    assert ctx.target.config is not None
    tensor = draft_tensor(ctx, "d2t")
    assert tensor is not None
    index = mapping.outside[0]
    entry = mapping.entries[index]
    count = len(mapping.outside)
    which = f"entry {index} gives" if count == 1 else f"{count} entries give such ids, the first is {index}:"
    return Finding(
        f"d2t must map into the target's vocabulary of {mapping.size}, but {which} {entry + index}",
        path=ctx.where("draft", "checkpoint"),
        why="SGLang does not look at the range; drafting that token reads outside the embedding (device "
        "assert)",
        help=f"check that the draft was trained for {ctx.target.shown} and that d2t holds offsets",
        evidence=(
            tensor_line(tensor, f"d2t[{index}] = {entry}"),
            config_line(ctx.target.config, "vocab_size", "target vocabulary"),
        ),
        arithmetic=(f"{index} + {entry} = {index + entry}   (ids go from 0 to {mapping.size - 1})",),
        values={"outside": count, "vocab_size": mapping.size},
    )


def _repeated(ctx: Context, mapping: Mapping) -> Finding:
    tensor = draft_tensor(ctx, "d2t")
    assert tensor is not None
    first, second = mapping.repeated[0]
    token = mapping.entries[first] + first
    count = len(mapping.repeated)
    more = "" if count == 1 else f" ({count} such pairs)"
    return Finding(
        f"d2t must give each draft token its own target id, but entries {first} and {second} both give "
        f"{token}{more}",
        path=ctx.where("draft", "checkpoint"),
        severity=Severity.WARNING,
        today=Today.SILENT,
        why="one of the two rows of the head can never be right, and the token that it was trained for is "
        "never proposed",
        help="save the draft again with the d2t of the run that trained its head",
        evidence=(
            tensor_line(
                tensor, f"d2t[{first}] = {mapping.entries[first]}, d2t[{second}] = {mapping.entries[second]}"
            ),
        ),
        arithmetic=tuple(f"{i} + {mapping.entries[i]} = {token}" for i in (first, second)),
        values={"repeated": count},
    )


RULE = Rule(
    id="EC245",
    slug="d2t-values",
    severity=Severity.ERROR,
    today=Today.CRASH_AT_FIRST_REQUEST,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.TARGET_CONFIG, Need.DRAFT_TENSORS),
    follows=("EC243", "EC244", "EC248", "EC262", *UNLOADABLE),
    research=("VOC-06",),
)
