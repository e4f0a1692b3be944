"""The parts of the training script: corpus, trigram model, training-time test."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tiny_scripts  # noqa: F401 - makes the scripts importable
import torch
from corpus import Trigram, encode, held_out_prompts, read_corpus, rows, train_tokenizer
from distill import TestTimeUnroll as Unroll
from distill import Views, expected_length, look, loss_of, train_draft
from pretrain import learning_rate, perplexity, train_target
from transformers import LlamaForCausalLM

from eaglecfg.reference.draft import Draft, Rotary
from eaglecfg.reference.load import load_draft, shape_of
from eaglecfg.reference.pair import PairShape, draft_config, write_random_pair
from eaglecfg.reference.target import BoundaryCapture, load_target

SHAPE = PairShape(
    layers=3,
    hidden=64,
    heads=2,
    kv_heads=1,
    head_dim=32,
    intermediate=96,
    vocab=320,
    draft_intermediate=96,
    draft_vocab=256,
    ids=(0, 1),
    context=64,
    dtype="float32",
)


def library(folder: Path) -> Path:
    for i in range(40):
        lines = [f"def function_{i}_{j}(value):\n    return value + {j}\n\n\n" for j in range(12)]
        (folder / f"module_{i}.py").write_text("".join(lines), encoding="utf-8")
    (folder / "test").mkdir()
    (folder / "test" / "skipped.py").write_text("x = 1\n", encoding="utf-8")
    (folder / "latin.py").write_bytes(b"# caf\xe9\n")
    return folder


def test_the_split_goes_by_file_and_the_hash_by_content(tmp_path: Path) -> None:
    corpus = read_corpus(library(tmp_path))
    names = [name for part in (corpus.train, corpus.held_out) for name, _ in part]
    assert len(names) == len(set(names)) == 40
    assert corpus.held_out
    assert corpus == read_corpus(tmp_path)
    (tmp_path / "module_0.py").write_text("changed = True\n", encoding="utf-8")
    assert read_corpus(tmp_path).sha256 != corpus.sha256


def test_prompts_come_from_held_out_files_in_the_lengths_asked(tmp_path: Path) -> None:
    corpus = read_corpus(library(tmp_path))
    tokenizer = train_tokenizer((text for _, text in corpus.train), 320)
    prompts = held_out_prompts(tokenizer, corpus.held_out, 30, 5, 20, seed=1)
    assert prompts == held_out_prompts(tokenizer, corpus.held_out, 30, 5, 20, seed=1)
    texts = dict(corpus.held_out)
    for name, ids in prompts:
        assert 5 <= len(ids) <= 20
        assert tokenizer.decode(ids) in texts[name]


def test_trigram_probabilities_sum_to_one_in_seen_and_unseen_contexts() -> None:
    rng = np.random.default_rng(0)
    model = Trigram(rng.zipf(1.5, 4000) % 30, 30)
    for context in ((1, 2), (2, 1), (29, 28), (7, 29)):
        grams = np.array([[*context, last] for last in range(30)])
        p = model.probability(grams)
        assert p.min() > 0
        assert p.sum() == pytest.approx(1)


def test_a_trigram_model_knows_what_it_has_seen() -> None:
    tokens = np.tile(np.arange(8), 200)
    assert Trigram(tokens, 8).perplexity(rows(tokens, 16)) < 1.05


def test_the_learning_rate_rises_then_falls_to_nothing() -> None:
    rates = [learning_rate(step, 200, peak=1.0, warm_up=20) for step in range(200)]
    assert max(rates) == rates[19] == 1.0
    assert rates[0] == pytest.approx(0.05)
    assert rates[-1] < 0.001


def test_the_unroll_is_what_the_decoder_drafts(tmp_path: Path) -> None:
    """Each step of training-time test equals the step of a real chain, begun at any row, cache and all."""
    target_folder, draft_folder = write_random_pair(tmp_path, SHAPE, seed=2)
    target = load_target(target_folder, dtype=torch.float32, device="cpu", boundaries=SHAPE.boundaries)
    draft = load_draft(draft_folder, target.embedding(), dtype=torch.float32)
    text = torch.randint(SHAPE.vocab, (12,), generator=torch.Generator().manual_seed(4)).tolist()
    steps = 4
    with torch.inference_mode():
        output = target.forward(text, target.new_cache())
        embeds = target.embedding()[text[1:]][None]
        views = Views(embeds, output.states[None, :-1], output.logits[None, 1:])
        rotary = Rotary(draft_config(SHAPE), SHAPE.head_dim, target.device, torch.float32)
        unrolled = [logits[0] for logits in Unroll(draft, rotary)(views, steps)]
        for begin in range(len(text) - steps):
            cache = draft.new_cache()
            fused = draft.fuse(output.states[: begin + 1])
            logits, hidden = draft(torch.tensor(text[1 : begin + 2]), fused, cache)
            for step in range(steps):
                assert torch.allclose(logits, unrolled[step][begin + step], atol=1e-5), (begin, step)
                if step < steps - 1:
                    logits, hidden = draft(torch.tensor([text[begin + step + 2]]), hidden, cache)


def test_training_a_pair_learns_something(tmp_path: Path) -> None:
    corpus = read_corpus(library(tmp_path))
    tokenizer = train_tokenizer((text for _, text in corpus.train), SHAPE.vocab)
    tokens, held_out = (
        encode(tokenizer, corpus.train),
        rows(encode(tokenizer, corpus.held_out), SHAPE.context),
    )
    torch.set_num_threads(1)
    model = train_target(SHAPE, tokens, held_out, steps=60, batch=8, device="cpu", seed=0)
    assert isinstance(model, LlamaForCausalLM)
    assert perplexity(model, held_out, "cpu") < SHAPE.vocab / 4
    model.requires_grad_(False)
    raw = draft_config(SHAPE)
    draft = Draft(shape_of(raw, tmp_path), raw, model.model.embed_tokens.weight)
    draft.target_ids = torch.arange(SHAPE.draft_vocab)
    batch = torch.from_numpy(held_out[:4])
    capture = BoundaryCapture(model.model.layers, model.model.norm, SHAPE.boundaries)
    unroll = Unroll(draft, Rotary(raw, SHAPE.head_dim, batch.device, torch.float32))
    views = look(model, capture, batch)
    before = float(loss_of(unroll, views, draft.target_ids, 3).detach())
    source = iter([torch.from_numpy(rows(tokens, 64)[i % 20 : i % 20 + 8]) for i in range(60)])
    train_draft(model, draft, raw, SHAPE.boundaries, source, steps=60, ttt_steps=3)
    assert float(loss_of(unroll, views, draft.target_ids, 3).detach()) < 0.7 * before
    assert 1 < expected_length(unroll, views, draft.target_ids, 3) <= 4
