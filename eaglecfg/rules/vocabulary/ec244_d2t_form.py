"""EC244: d2t entries that are not the offsets which the engine takes them for."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line, tensor_line
from eaglecfg.rules.model import (
    Evidence,
    Finding,
    Item,
    Need,
    Rule,
    Severity,
    Today,
)
from eaglecfg.rules.vocabulary.facts import (
    DraftVocabulary,
    StoredMap,
    draft_tensor,
    stored_map,
)
from eaglecfg.rules.vocabulary.mapping import Mapping, read_mapping


def check(ctx: Context) -> Iterator[Item]:
    stored = stored_map(ctx)
    if not isinstance(stored, StoredMap):
        yield stored
        return
    assert ctx.draft is not None
    vocabulary = stored.vocabulary
    mapping = read_mapping(stored.entries, stored.target, ctx.draft.vocabulary.t2d)
    if mapping.absolute or mapping.perhaps_absolute:
        yield _absolute(ctx, mapping)
    elif _contradicts(mapping, vocabulary):
        yield _contradiction(ctx, mapping, vocabulary)
    elif mapping.zeros and vocabulary.reduced and mapping.marks is None:
        yield _zeros(ctx, mapping, vocabulary)


def _contradicts(mapping: Mapping, vocabulary: DraftVocabulary) -> bool:
    """Whether t2d marks as many tokens as the draft has, but others than d2t names."""
    if mapping.marked is None or mapping.marks != len(mapping.entries) or not vocabulary.reduced:
        return False
    return not mapping.outside and not mapping.repeated and mapping.marked < len(mapping.entries)


def _absolute(ctx: Context, mapping: Mapping) -> Finding:
    count, last = len(mapping.entries), len(mapping.entries) - 1
    entry = mapping.entries[last]
    if mapping.marked is not None:
        stand, added = f"{mapping.marked_absolute} of {count}", f"{mapping.marked} of {count}"
        proof = f"t2d marks {stand} entries as they stand, {added} after adding the index"
    elif mapping.outside:
        beyond = f"{len(mapping.outside)} of {count}"
        proof = f"entries rise without repeats below {mapping.size}; after adding the index {beyond} do not"
    else:
        proof = f"the entries rise from {mapping.entries[0]} to {entry} without repeats, as target ids do"
    sure = not mapping.perhaps_absolute
    return Finding(
        "d2t must hold offsets (target id minus draft id), but "
        + ("holds target ids" if sure else "looks like a list of target ids"),
        path=ctx.where("draft", "checkpoint"),
        severity=None if sure else Severity.WARNING,
        why="SGLang adds the index to each entry, so that nearly every proposal becomes another token; "
        "nothing is logged",
        help="subtract the index from each entry (d2t[i] -= i) and save the draft again"
        + ("" if sure else "; a t2d tensor in the draft's weights would settle whether this is needed"),
        evidence=_tensors(ctx, proof),
        arithmetic=(
            f"d2t[{last}] + {last} = {entry} + {last} = {entry + last}   (vocabulary {mapping.size})",
        ),
        values={"entries": count, "vocab_size": mapping.size},
    )


def _contradiction(ctx: Context, mapping: Mapping, vocabulary: DraftVocabulary) -> Finding:
    count = len(mapping.entries)
    what = (
        f"d2t is all zeros, which maps the draft to the first {count} of {vocabulary.target} target ids, "
        "but t2d marks others"
        if mapping.zeros
        else f"d2t and t2d must name the same tokens, but t2d marks only {mapping.marked} of the {count} "
        "that d2t names"
    )
    return Finding(
        what,
        path=ctx.where("draft", "checkpoint"),
        why="SGLang reads d2t alone: proposals of the draft become tokens that it did not mean; nothing is "
        "logged",
        help="save the draft again with the d2t of the run that trained its head (d2t[i] = target id - i)",
        evidence=_tensors(ctx, f"t2d marks {mapping.marked} of {count} mapped tokens"),
        values={"entries": count, "marked": mapping.marked},
    )


def _zeros(ctx: Context, mapping: Mapping, vocabulary: DraftVocabulary) -> Finding:
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    count = len(mapping.entries)
    return Finding(
        f"d2t is all zeros, which maps the draft to the first {count} of {vocabulary.target} target ids",
        path=ctx.where("draft", "checkpoint"),
        severity=Severity.WARNING,
        why="a vocabulary reduced by frequency is never the first ids alone; a map that was never filled "
        "looks like this",
        help="compare d2t with the one that the trainer wrote; a t2d tensor in the draft's weights would "
        "settle it",
        evidence=(*_tensors(ctx, "all zeros"), config_line(ctx.draft.config, "draft_vocab_size")),
        values={"entries": count, "vocab_size": vocabulary.target},
    )


def _tensors(ctx: Context, note: str) -> tuple[Evidence, ...]:
    d2t, t2d = draft_tensor(ctx, "d2t"), draft_tensor(ctx, "t2d")
    return tuple(tensor_line(t, note if t is d2t else "") for t in (d2t, t2d) if t is not None)


RULE = Rule(
    id="EC244",
    slug="d2t-form",
    severity=Severity.ERROR,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG, Need.TARGET_CONFIG, Need.DRAFT_TENSORS),
    follows=("EC243", "EC248", *UNLOADABLE),
    research=("VOC-05",),
)
