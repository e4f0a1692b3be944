"""The path of the hidden states through one deployment, from the target's layers to target token ids."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from eaglecfg.checkpoint.facts import CheckpointFacts, TensorFact
from eaglecfg.engines.boundaries import Boundaries
from eaglecfg.engines.facts import EngineFacts
from eaglecfg.engines.fusion import Fusion, fusion_of
from eaglecfg.engines.resolve import Resolution
from eaglecfg.engines.wiring import ExpectedTensor, Wiring, times

_LATER_LAYER = re.compile(r"\blayers\.[1-9]")

Size = int | str | None
"""A length: a number, a word for one that varies (``tokens``), None where it is not known."""

ONE_RANK = "one rank holds everything"

Spread = Literal["replicated", "sharded", "gathered", "partial"]


@dataclass(frozen=True, slots=True)
class Source:
    """Where a number of a hop comes from: a key of a config, a tensor of a file, a line of the engine."""

    file: str
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Hop:
    """One step. ``full`` is the whole shape, ``per_rank`` what one tensor-parallel rank holds of it.

    ``spread``: ``replicated``, every rank holds all of it; ``sharded``, each holds a part; ``gathered``,
    computed in parts and put together again; ``partial``, each has a full width of its own that differs from
    the others' because a sum over the ranks is missing in it. ``why`` answers that question in one sentence.
    ``verified``: the tensor was seen with the expected shape (True), with another one (False), or could not
    be seen (None).
    ``divides`` is false where the ranks cannot share the step: nothing is verified then.
    """

    name: str
    what: str
    full: tuple[Size, ...]
    per_rank: tuple[Size, ...]
    spread: Spread
    why: str
    evidence: tuple[Source, ...] = ()
    verified: bool | None = None
    divides: bool = True


@dataclass(frozen=True, slots=True)
class _Deployment:
    facts: EngineFacts
    target: CheckpointFacts | None
    draft: CheckpointFacts | None
    wiring: Wiring
    boundaries: Boundaries
    ranks: int | None
    groups: int
    draft_ranks: int | None
    fusion: Fusion

    @property
    def tokens(self) -> str:
        """Whose tokens a rank has at hand."""
        return "tokens" if self.groups == 1 else "tokens of the group"

    @property
    def whole(self) -> str:
        """What is to be said where nothing is split."""
        return ONE_RANK if self.groups == 1 else "each rank holds all of it"

    @property
    def partial(self) -> bool:
        """Whether each rank captures its own part of a sum."""
        return self.boundaries.deferred and self.groups == 1 and self.fusion.runs is True

    @property
    def architecture(self) -> str | None:
        return self.target.config.architecture if self.target and self.target.config else None

    @property
    def layout(self) -> dict[str, str]:
        return dict(self.facts.values["layout"])

    def line(self, key: str) -> Source:
        """The line of the engine that does what the hop says."""
        place = self.layout[key]
        wheel = self.facts.sources["layout"].partition("(")[2].rstrip(")")
        return self.code(wheel.removeprefix(f"{self.facts.name} "), place)

    def fact_line(self, name: str) -> Source:
        """The line of the engine from which the value ``name`` was read."""
        place, _, wheel = self.facts.sources[name].partition(" (")
        return self.code(wheel.rstrip(")").removeprefix(f"{self.facts.name} "), place)

    def code(self, read_in: str, place: str) -> Source:
        """A line of the engine; of another version than the one that runs it says so."""
        other = "" if read_in == self.facts.version else "as in "
        return Source(f"{other}{self.facts.name} {read_in}", place, "")

    def tensor(self, part: ExpectedTensor | None) -> tuple[bool | None, tuple[Source, ...]]:
        """(whether the draft has the tensor in the expected shape, where it was seen)."""
        if part is None or self.draft is None:
            return None, ()
        found: TensorFact | None = next(
            (self.draft.tensors[name] for name in part.names if name in self.draft.tensors), None
        )
        if found is None:
            return None, ()
        fits = all(want is None or want == got for want, got in zip(part.shape, found.shape, strict=False))
        fits = fits and len(part.shape) == len(found.shape)
        return fits, (Source(found.file, found.name, str(found)),)


def data_path(
    facts: EngineFacts,
    target: CheckpointFacts | None,
    draft: CheckpointFacts | None,
    wiring: Wiring,
    boundaries: Boundaries,
    resolution: Resolution,
    gpu: str | None = None,
) -> tuple[Hop, ...]:
    """The hops in order, for a draft that ``wiring`` describes and boundaries that the target captures.

    ``gpu`` is the name of the GPUs, where the config has it.
    """
    groups = resolution.runs("attention.dp_size") or 1
    here = _Deployment(
        facts,
        target,
        draft,
        wiring,
        boundaries,
        ranks=resolution.runs("attention.tp_size"),
        groups=groups,
        draft_ranks=resolution.runs("draft.tp_size"),
        fusion=fusion_of(
            facts,
            target.config.architecture if target is not None and target.config is not None else None,
            resolution,
            gpu,
        ),
    )
    return (*_target_side(here), *_hand_over(here), *_draft_side(here), *_vocabulary(here))


def _target_side(here: _Deployment) -> Iterator[Hop]:
    width, tokens = _target_width(here), here.tokens
    divides = _target_divides(here)
    yield Hop(
        "residual stream",
        "hidden + residual between the target's layers",
        (tokens, width),
        (tokens, width),
        "replicated",
        _stream_why(here),
        (*_config(here.target, "hidden_size"), here.line("row_parallel")),
        divides=divides,
    )
    if not here.boundaries.captured:
        yield Hop(
            "capture: none",
            "no state reaches the draft, whose steps below never run",
            (tokens, 0),
            (tokens, 0),
            "replicated",
            here.boundaries.reason,
            (here.code(here.boundaries.read_in, here.boundaries.source),) if here.boundaries.source else (),
        )
    for boundary in here.boundaries.captured:
        yield Hop(
            f"capture at boundary {boundary}",
            _boundary_words(boundary, here.boundaries.layers),
            (tokens, width),
            (tokens, width),
            "partial" if here.partial else "replicated",
            _capture_why(here),
            (
                here.code(here.boundaries.read_in, here.boundaries.source),
                here.line("capture"),
            ),
        )
    if here.boundaries.decode is not None:
        yield Hop(
            "capture in CUDA graphs",
            f"boundaries {_listed(here.boundaries.decode)} instead, in decode and verify",
            (tokens, width),
            (tokens, width),
            "partial" if here.partial else "replicated",
            f"the graph runner of {here.facts.name} {here.facts.version} sets the default layers before it "
            "records, whatever the ids are; only prefill follows them",
            (here.fact_line("graph_resets_layers"),),
        )


def _stream_why(here: _Deployment) -> str:
    if here.ranks == 1 and here.groups == 1:
        return ONE_RANK
    if not _target_divides(here):
        heads = _target_heads(here)
        return f"the target's {heads} attention heads do not divide by {here.ranks} ranks: it cannot start"
    if here.ranks == 1:
        return f"each of the {here.groups} groups of data-parallel attention is one rank with its own tokens"
    why = (
        "attention and MLP are split over the ranks, but their output projections are row-parallel and end "
        "in an all-reduce, so that every rank holds the full width again"
    )
    if here.groups > 1:
        why += f"; with {here.groups} groups of data-parallel attention each group holds its own tokens only"
    return why


def _capture_why(here: _Deployment) -> str:
    if here.partial:
        asked = "as asked" if here.fusion.asked else f"by default for {here.architecture}"
        parts = [
            "here each rank captures its own partial sum of the last MLP: the fused all-reduce (FlashInfer) "
            f"is on, {asked}, and this class adds hidden and residual before that all-reduce has run"
        ]
    elif here.ranks == 1:
        owner = "the one rank" if here.groups == 1 else "each rank"
        parts = [f"a captured state is full width on {owner}: nothing about it is sharded"]
    else:
        parts = [
            "a captured state is full width on every rank: the stream is captured whole, nothing is sharded"
        ]
        if here.boundaries.deferred and here.groups == 1 and here.fusion.runs is None:
            on = "as asked" if here.fusion.asked else "by default for this class"
            parts.append(
                "unless the GPUs are Hopper or B200, which hardware.gpu would say: there the fused "
                f"all-reduce (FlashInfer) is on {on}, and each rank captures its own partial sum of the "
                "last MLP"
            )
    if not here.boundaries.residual:
        parts.append("this class captures it without the residual")
    return "; ".join(parts)


def _target_heads(here: _Deployment) -> int | None:
    config = here.target.config if here.target is not None else None
    return config.integer("num_attention_heads") if config is not None else None


def _target_divides(here: _Deployment) -> bool:
    heads = _target_heads(here)
    return heads is None or not here.ranks or heads % here.ranks == 0


def _boundary_words(boundary: int, layers: int | None) -> str:
    if boundary == 0:
        return "the embedding, before the first layer"
    last = " (the last, before the final norm)" if boundary == layers else ""
    return f"output of target layer {boundary - 1}{last}"


def _listed(boundaries: tuple[int, ...]) -> str:
    return ", ".join(map(str, boundaries))


def _hand_over(here: _Deployment) -> Iterator[Hop]:
    width = _target_width(here)
    count = len(here.boundaries.captured)
    order = _listed(here.boundaries.captured)
    if here.boundaries.decode is not None:
        order = f"[{order}] in prefill, [{_listed(here.boundaries.decode)}] in CUDA graphs"
    shape: tuple[Size, ...] = (here.tokens, times(count, width) if isinstance(width, int) else None)
    yield Hop(
        "concatenation",
        f"states side by side in the order the layers run, whatever the order of the ids: {order or 'none'}",
        shape,
        shape,
        "partial" if here.partial else "replicated",
        f"{count} × {width}; the logits processor packs them along the last axis"
        + (", on each rank its own" if here.partial else "" if here.ranks == 1 else " on every rank"),
        (here.line("pack"),),
    )


def _draft_side(here: _Deployment) -> Iterator[Hop]:
    wiring, ranks = here.wiring, here.draft_ranks
    split = wiring.fact.fc_split and ranks != 1
    fc = wiring.expected("fc.weight")
    verified, seen = here.tensor(fc)
    source = here.code(wiring.fact.read_in, wiring.fact.source)
    rows = _part(wiring.hidden, ranks) if split else wiring.hidden
    whole = "a plain linear layer" + ("" if ranks == 1 else ", which every rank holds whole")
    if here.partial:
        whole += "; what it reads, and so what it gives, differs from rank to rank"
    divides = rows is not None or wiring.hidden is None or not ranks
    yield Hop(
        "draft fc",
        f"{wiring.states} states of {wiring.state_width} each are projected to the draft's {wiring.hidden}",
        wiring.fc_shape,
        (rows, wiring.fc_in),
        "gathered" if split else "replicated",
        "split by rows and gathered, so that every rank gets the full output" if split else whole,
        (*seen, source),
        verified if divides else None,
        divides,
    )
    doubled = times(wiring.hidden, 2)
    yield Hop(
        "first draft layer, input",
        "normed token embedding and normed state side by side",
        (here.tokens, doubled),
        (here.tokens, doubled),
        "partial" if here.partial else "replicated",
        _input_why(here),
        (here.line("embedding"),),
    )
    yield from _attention(here)


def _input_why(here: _Deployment) -> str:
    if here.draft_ranks == 1:
        return here.whole
    state = "the state differs from rank to rank" if here.partial else "the state is whole already"
    return f"embedding rows are looked up in shards and summed over the ranks, {state}"


def _attention(here: _Deployment) -> Iterator[Hop]:
    wiring, ranks = here.wiring, here.draft_ranks
    for part in wiring.tensors:
        name = part.names[0]
        outer = part.part not in ("attention", "mlp")
        if outer or len(part.shape) != 2 or _LATER_LAYER.search(name):
            continue
        verified, seen = here.tensor(part)
        whole = name.split(".")[-2] in ("q_a_proj", "kv_a_proj_with_mqa")
        spread: Spread = "replicated" if whole or ranks == 1 else "sharded"
        why = (
            here.whole
            if ranks == 1
            else "low-rank projection, which every rank holds whole"
            if whole
            else "each rank holds its own heads or rows"
        )
        shape: tuple[Size, ...] = part.shape
        divides = True
        if spread == "sharded":
            undivided = _undivided(part, wiring, ranks)
            divides = not undivided
            shape, why = _share(part, wiring, ranks, undivided or why)
        yield Hop(
            f"first draft layer, {name.split('.')[-2]}",
            part.why,
            part.shape,
            shape,
            spread,
            why,
            seen,
            verified if divides else None,
            divides,
        )


def _undivided(part: ExpectedTensor, wiring: Wiring, ranks: int | None) -> str:
    """Why the ranks cannot share a tensor: heads, and rows or columns, are dealt out whole."""
    if not ranks:
        return ""
    name = part.names[0].split(".")[-2]
    heads = {
        "q_proj": wiring.heads,
        "o_proj": wiring.heads,
        "k_proj": wiring.kv_heads,
        "v_proj": wiring.kv_heads,
    }
    number, what = (heads[name], "heads") if name in heads else (part.shape[part.axis], "rows")
    if what == "rows" and part.axis == 1:
        what = "columns"
    if number is None:
        return ""
    few = name in ("k_proj", "v_proj") and number < ranks
    if (ranks % number if few else number % ranks) == 0:
        return ""
    return f"{number} {what} do not divide by {ranks} ranks: the draft cannot start"


def _share(part: ExpectedTensor, wiring: Wiring, ranks: int | None, why: str) -> tuple[tuple[Size, ...], str]:
    """(what one rank holds, why). Fewer kv heads than ranks are copied rather than split."""
    shape: list[Size] = list(part.shape)
    if _undivided(part, wiring, ranks):
        shape[part.axis] = None
        return tuple(shape), why
    length = part.shape[part.axis]
    kv = part.names[0].split(".")[-2] in ("k_proj", "v_proj")
    if kv and wiring.kv_heads and ranks and wiring.kv_heads < ranks:
        shape[part.axis] = wiring.head_dim
        return tuple(shape), f"{wiring.kv_heads} kv heads for {ranks} ranks: each rank holds a copy of one"
    shape[part.axis] = _part(length, ranks)
    if part.axis == 1:
        why = "each rank holds its own columns, and the outputs are summed over the ranks"
    return tuple(shape), why


def _vocabulary(here: _Deployment) -> Iterator[Hop]:
    wiring, ranks = here.wiring, here.draft_ranks
    rows = wiring.draft_vocabulary if wiring.head == "own" else wiring.vocabulary
    verified, seen = here.tensor(wiring.expected("lm_head.weight")) if wiring.head == "own" else (None, ())
    width = _target_width(here) if wiring.head == "target" else wiring.hidden
    fits = width == wiring.hidden or not isinstance(width, int)
    owner = {"own": "the draft's own head", "target": "the target's head", "tied": "the embedding as head"}[
        wiring.head
    ]
    yield Hop(
        "draft head",
        f"{owner}: scores for {rows} tokens"
        if fits
        else f"{owner} is {width} wide and the draft is {wiring.hidden} wide: the draft cannot start",
        (rows, width),
        (_padded(rows, ranks), width),
        "replicated" if ranks == 1 else "gathered",
        here.whole
        if ranks == 1
        else "split by rows of the vocabulary, padded to a multiple of 64; every rank gets all scores",
        (*seen, here.line("logits")),
        verified,
    )
    maps = wiring.expected("d2t")
    verified, seen = here.tensor(maps)
    yield Hop(
        "draft ids to target ids",
        "target id = draft id + d2t[draft id]" if wiring.needs_map or seen else "draft ids are target ids",
        (rows,),
        (rows,),
        "replicated",
        here.whole if ranks == 1 else "every rank holds the whole map",
        seen,
        verified if wiring.needs_map or seen else None,
    )


def _target_width(here: _Deployment) -> Size:
    config = here.target.config if here.target is not None else None
    return config.integer("hidden_size") if config is not None else here.wiring.state_width


def _config(checkpoint: CheckpointFacts | None, name: str) -> tuple[Source, ...]:
    config = checkpoint.config if checkpoint is not None else None
    found = config.find(name) if config is not None else None
    return (
        (Source(config.file, found.key, str(found.value)),)
        if config is not None and found is not None
        else ()
    )


def _part(length: int | None, ranks: int | None) -> int | None:
    return length // ranks if length is not None and ranks and length % ranks == 0 else None


def _padded(rows: int | None, ranks: int | None) -> int | None:
    """Rows of one rank: the vocabulary padded to 64, or to 64 per rank where that does not divide."""
    if rows is None or not ranks or ranks == 1:
        return rows if ranks else None
    padded = -(-rows // 64) * 64
    if padded % ranks:
        padded = -(-rows // (64 * ranks)) * 64 * ranks
    return padded // ranks
