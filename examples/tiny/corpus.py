"""The text that every machine with Python has, its standard library: tokens, held-out part, trigram model."""

from __future__ import annotations

import hashlib
import math
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

END = "<|endoftext|>"
# Character tables are long runs of near-random tokens, and not every distribution ships the tests.
SKIPPED = frozenset(
    {"site-packages", "dist-packages", "test", "tests", "idle_test", "encodings", "__pycache__"}
)
HELD_OUT_SHARE = 12  # one file in twelve
LARGEST_FILE = 400_000


@dataclass(frozen=True, slots=True)
class Corpus:
    """Files by relative name, split by a hash of the name, and the hash of everything that was read."""

    train: tuple[tuple[str, str], ...]
    held_out: tuple[tuple[str, str], ...]
    sha256: str


def _files(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder)
        if SKIPPED.intersection(name.parts[:-1]) or path.stat().st_size > LARGEST_FILE:
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if text.strip():
            yield name.as_posix(), text


def read_corpus(folder: Path | None = None) -> Corpus:
    """Read the standard library of the running Python (or ``folder``)."""
    digest = hashlib.sha256()
    train, held_out = [], []
    for name, text in _files(folder or Path(sysconfig.get_path("stdlib"))):
        digest.update(name.encode() + b"\0" + text.encode() + b"\0")
        part = int(hashlib.sha256(name.encode()).hexdigest(), 16) % HELD_OUT_SHARE
        (held_out if part == 0 else train).append((name, text))
    return Corpus(tuple(train), tuple(held_out), digest.hexdigest())


def train_tokenizer(texts: Iterator[str], vocab: int) -> Tokenizer:
    """Byte-level BPE with ``vocab`` tokens; id 0 ends a file and starts the next."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def encode(tokenizer: Tokenizer, files: Sequence[tuple[str, str]]) -> np.ndarray:
    """All files in one row of token ids, each with the end token in front."""
    rows = tokenizer.encode_batch([text for _, text in files])
    return np.concatenate([np.array([0, *row.ids], dtype=np.int64) for row in rows])


class Trigram:
    """Interpolated Kneser-Ney trigram model with one discount an order, taken from the counts of counts."""

    def __init__(self, tokens: np.ndarray, vocab: int) -> None:
        self.vocab = vocab
        tri = (tokens[:-2] * vocab + tokens[1:-1]) * vocab + tokens[2:]
        self.tri, self.tri_count = np.unique(tri, return_counts=True)
        # Lower orders count in how many contexts a token was seen, not how often (continuation counts).
        self.bi, self.bi_count = np.unique(self.tri % (vocab * vocab), return_counts=True)
        self.uni_count = np.bincount(self.bi % vocab, minlength=vocab)
        self.contexts = [self._contexts(self.tri, self.tri_count), self._contexts(self.bi, self.bi_count)]

    def _contexts(self, grams: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        context, start = np.unique(grams // self.vocab, return_index=True)
        return context, np.add.reduceat(counts, start), np.diff(np.append(start, len(grams)))

    @staticmethod
    def _look_up(keys: np.ndarray, values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[at] == wanted, values[at], 0)

    @staticmethod
    def _discount(counts: np.ndarray) -> float:
        once, twice = int((counts == 1).sum()), int((counts == 2).sum())
        return once / (once + 2 * twice) if once else 0.5

    def probability(self, grams: np.ndarray) -> np.ndarray:
        """Probability of the last token of each row of [N, 3] token ids."""
        v = self.vocab
        uni = (self.uni_count + 0.5) / (self.uni_count.sum() + 0.5 * v)
        p = uni[grams[:, 2]]
        bi_context, tri_context = grams[:, 1], grams[:, 0] * v + grams[:, 1]
        orders = (
            (self.bi, self.bi_count, self.contexts[1], bi_context),
            (self.tri, self.tri_count, self.contexts[0], tri_context),
        )
        for keys, counts, (contexts, totals, kinds), context in orders:
            discount = self._discount(counts)
            count = self._look_up(keys, counts, context * v + grams[:, 2])
            total = self._look_up(contexts, totals, context)
            kind = self._look_up(contexts, kinds, context)
            seen = total > 0
            safe = np.maximum(total, 1)
            p = np.where(seen, np.maximum(count - discount, 0) / safe + discount * kind / safe * p, p)
        return p

    def perplexity(self, windows: np.ndarray) -> float:
        """Perplexity of tokens 2.. of each row of [N, T] token ids."""
        grams = np.stack([windows[:, :-2], windows[:, 1:-1], windows[:, 2:]], axis=-1).reshape(-1, 3)
        return math.exp(-float(np.log(self.probability(grams)).mean()))


def rows(tokens: np.ndarray, length: int) -> np.ndarray:
    """Consecutive windows of ``length`` tokens, [N, length]; the rest is dropped."""
    count = len(tokens) // length
    return tokens[: count * length].reshape(count, length)


def held_out_prompts(
    tokenizer: Tokenizer, files: Sequence[tuple[str, str]], count: int, shortest: int, longest: int, seed: int
) -> list[tuple[str, list[int]]]:
    """``count`` prompts of ``shortest``..``longest`` tokens from held-out files, each from a line's start."""
    rng = np.random.default_rng(seed)
    weights = np.array([len(text) for _, text in files], dtype=float)
    prompts: list[tuple[str, list[int]]] = []
    while len(prompts) < count:
        name, text = files[rng.choice(len(files), p=weights / weights.sum())]
        lines = text.splitlines(keepends=True)
        start = int(rng.integers(len(lines)))
        length = int(rng.integers(shortest, longest + 1))
        ids = tokenizer.encode("".join(lines[start : start + 60])).ids[:length]
        if len(ids) == length:
            prompts.append((name, ids))
    return prompts
