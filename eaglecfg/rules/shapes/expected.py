"""The draft's tensors beside those that the engine builds."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.checkpoint.facts import TensorFact
from eaglecfg.engines.wiring import ExpectedTensor, Wiring, wiring_of
from eaglecfg.record import record
from eaglecfg.rules.context import Context
from eaglecfg.rules.shapes.tensors import plain

VOCABULARY = frozenset({"lm_head.weight", "embed_tokens.weight", "d2t", "t2d"})
"""Tensors of the vocabulary, which have rules of their own."""

OPTIONAL_NORMS = ("input_norm.", "fc_norm.", "aux_norm_low.", "aux_norm_mid.", "aux_norm_high.")
"""Norms before fc that a key switches on, which have rules of their own too."""


@record
class Pair:
    """A tensor that the engine builds, and the one of the files that fills it, if any."""

    expected: ExpectedTensor
    found: TensorFact | None

    @property
    def name(self) -> str:
        """The plain name (``layers.0.self_attn.k_proj.weight``)."""
        return plain(self.expected.names[0])

    @property
    def role(self) -> str:
        """The name inside its layer (``self_attn.k_proj.weight``)."""
        parts = self.name.split(".")
        return ".".join(parts[2:]) if parts[0] == "layers" else self.name

    @property
    def differs(self) -> int | None:
        """The first axis along which file and engine disagree; 0 where the number of axes does. None: they
        agree."""
        if self.found is None:
            return None
        have, want = self.found.shape, self.expected.shape
        if len(have) != len(want):
            return 0
        lengths = enumerate(zip(have, want, strict=True))
        return next((axis for axis, (a, b) in lengths if b is not None and a != b), None)

    @property
    def layer(self) -> int | None:
        """Number of the decoder layer, None outside all of them."""
        parts = self.name.split(".")
        return int(parts[1]) if parts[0] == "layers" and parts[1].isdigit() else None


MOST_LAYERS = 256
"""No draft has so many; a config that says so is reported by its number of layers, not tensor by tensor."""


def wiring(ctx: Context) -> Wiring | None:
    """How this engine version builds the draft; None where it does not."""
    if ctx.engine is None or ctx.draft is None or ctx.draft.config is None:
        return None
    if (ctx.draft.config.integer("num_hidden_layers") or 1) > MOST_LAYERS:
        return None
    target = ctx.target.config if ctx.target is not None else None
    return wiring_of(ctx.engine, target, ctx.draft.config, ctx.resolution)


def pairs(ctx: Context, built: Wiring) -> Iterator[Pair]:
    """Every tensor that the engine builds, in the order of the class."""
    assert ctx.draft is not None
    for expected in built.tensors:
        found = (ctx.draft.tensors.get(name) for name in expected.names)
        yield Pair(expected, next((tensor for tensor in found if tensor is not None), None))


def unknown_names(ctx: Context, built: Wiring) -> list[str]:
    """Names in the draft's files that the engine builds nothing for, vocabulary maps aside."""
    assert ctx.draft is not None
    known = {name for expected in built.tensors for name in (*expected.names, *expected.instead)}
    of_vocabulary = tuple(f".{leaf}" for leaf in VOCABULARY)
    return sorted(
        name for name in ctx.draft.names or () if name not in known and not f".{name}".endswith(of_vocabulary)
    )
