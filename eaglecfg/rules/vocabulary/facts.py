"""What the files and the engine say about a draft's vocabulary, head and embedding."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from eaglecfg.checkpoint.config import ConfigValue
from eaglecfg.checkpoint.facts import TensorFact
from eaglecfg.engines.config_classes import tied
from eaglecfg.engines.naming import reaching
from eaglecfg.record import record
from eaglecfg.rules.context import Context
from eaglecfg.rules.model import NotApplicable, NotChecked


@record
class DraftVocabulary:
    """One EAGLE-3 draft's vocabulary as the engine will see it.

    ``target`` and ``own`` are ``vocab_size`` of target and draft, ``declared`` the ``draft_vocab_size`` key
    (None: the key is absent), ``rows`` the rows of the head that the engine builds (None where no number can
    be told). ``borrowed``: the key is null, so that the target's head is used. ``tied``: the head is the
    shared embedding.
    """

    target: int | None
    own: int | None
    declared: ConfigValue | None
    rows: int | None
    borrowed: bool
    tied: bool

    @property
    def reduced(self) -> bool:
        """Whether draft ids and target ids differ, so that a d2t map is needed."""
        return self.rows is not None and self.target is not None and self.rows < self.target


def draft_vocabulary(ctx: Context) -> DraftVocabulary | None:
    """The draft's vocabulary, or None where the draft is no EAGLE-3 class of this engine version."""
    if ctx.draft is None or ctx.draft.config is None or ctx.engine is None:
        return None
    draft = ctx.draft.config
    fact = ctx.engine.drafts.get(draft.architecture or "")
    if fact is None:
        return None
    declared = draft.find("draft_vocab_size")
    own = draft.integer("vocab_size")
    # Only the Llama class reads the attribute without a default; the MLA class takes absence for null.
    absent_is_null = "draft_vocab_size" not in fact.required_keys
    borrowed = declared.value is None if declared is not None else absent_is_null
    return DraftVocabulary(
        target=ctx.target.config.integer("vocab_size") if ctx.target and ctx.target.config else None,
        own=own,
        declared=declared,
        rows=own if borrowed else draft.integer("draft_vocab_size"),
        borrowed=borrowed,
        tied=tied(draft) is True,
    )


def draft_tensor(ctx: Context, leaf: str) -> TensorFact | None:
    """The draft tensor that is called ``leaf``, whatever stands before it (``d2t``, ``model.d2t``), loaded or
    not; one that is loaded first."""
    assert ctx.draft is not None
    found = [name for name in ctx.draft.tensors if name == leaf or name.endswith(f".{leaf}")]
    name = loaded_name(ctx, leaf, ctx.draft.tensors) or next(iter(found), None)
    return None if name is None else ctx.draft.tensors[name]


@record
class StoredMap:
    """A d2t that can be judged: its entries as stored, and the size of the vocabulary they point into."""

    vocabulary: DraftVocabulary
    target: int
    entries: Sequence[int]


def stored_map(ctx: Context) -> StoredMap | NotApplicable | NotChecked:
    """The draft's d2t, or why a rule about its values has nothing to say."""
    vocabulary = draft_vocabulary(ctx)
    assert ctx.draft is not None
    if vocabulary is None or vocabulary.target is None or draft_tensor(ctx, "d2t") is None:
        return NotApplicable()
    if ctx.draft.vocabulary.d2t is None:
        return NotChecked("the values of d2t could not be read")
    return StoredMap(vocabulary, vocabulary.target, ctx.draft.vocabulary.d2t)


def draft_has(ctx: Context, leaf: str) -> bool:
    """Whether the draft's files or index name a tensor that is called ``leaf``, loaded or not."""
    assert ctx.draft is not None
    return bool(spelled_otherwise(ctx, leaf)) or loaded_name(ctx, leaf, ctx.draft.names or ()) is not None


def loaded_name(ctx: Context, leaf: str, names: Collection[str]) -> str | None:
    """The name, of those in ``names``, under which the draft's class loads ``leaf``; None where none is."""
    assert ctx.engine is not None
    assert ctx.draft is not None
    architecture = ctx.draft.config.architecture if ctx.draft.config is not None else None
    fact = ctx.engine.drafts.get(architecture or "")
    return reaching(fact, leaf, names) if fact is not None else None


def spelled_otherwise(ctx: Context, leaf: str) -> list[str]:
    """Names in the draft's files that end in ``leaf``; where ``loaded_name`` is None, all are dropped."""
    assert ctx.draft is not None
    return sorted(name for name in ctx.draft.names or () if name == leaf or name.endswith(f".{leaf}"))


def padded_rows(vocabulary: int, ranks: int, multiple: int = 64) -> int:
    """Rows of an embedding after padding, as SGLang's VocabParallelEmbedding counts them.

    Padding goes to a multiple of 64, and to one of 64 × ranks where the first does not divide by the ranks
    (sglang 0.5.23 srt/layers/vocab_parallel_embedding.py:246-250).
    """
    padded = -(-vocabulary // multiple) * multiple
    if padded % ranks:
        multiple *= ranks
        padded = -(-vocabulary // multiple) * multiple
    return padded
