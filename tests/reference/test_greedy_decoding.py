"""Speculation changes no token: in float32 the output is that of plain greedy decoding, for any draft."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from pairs import SHAPES, SMALL, decoder_for, plain_greedy
from safetensors.torch import load_file, save_file

from eaglecfg.reference.decode import Decoder, Generation, generate
from eaglecfg.reference.failure import ReferenceFailure
from eaglecfg.reference.load import load_draft
from eaglecfg.reference.pair import PairShape, write_random_pair
from eaglecfg.reference.target import load_target
from eaglecfg.reference.wiring import Wiring, wrong_wirings

PROMPT = [7, 3, 11, 3, 80, 41]
TOKENS = 40


class Foretold(Generation):
    """A generation whose chains are the truth with one draft in three spoilt: any length gets accepted."""

    def __init__(self, decoder: Decoder, truth: list[int]) -> None:
        super().__init__(decoder, PROMPT, TOKENS)
        self.truth = [*truth, *truth]
        self.dice = random.Random(5)

    def _chain(self) -> list[int]:
        drafted = super()._chain()
        coming = self.truth[len(self.output) : len(self.output) + len(drafted)]
        return [one if self.dice.random() > 0.33 else (one + 1) % SMALL.vocab for one in coming]


@pytest.mark.parametrize("num_steps", [1, 2, 3, 4])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_output_equals_plain_greedy_decoding(tmp_path: Path, shape: PairShape, num_steps: int) -> None:
    decoder = decoder_for(tmp_path, shape, num_steps=num_steps)
    truth = plain_greedy(decoder, PROMPT, TOKENS)
    assert generate(Decoder(decoder.target, None, None, 0), PROMPT, TOKENS).output == truth
    assert generate(decoder, PROMPT, TOKENS).output == truth
    foretold = Foretold(decoder, truth)
    while foretold.finish is None:
        foretold.step()
    assert foretold.output == truth
    assert foretold.counters.correct_drafts > 0


@pytest.mark.parametrize("wrong", wrong_wirings(Wiring(SMALL.boundaries)).values())
def test_wrong_wiring_changes_no_token_either(tmp_path: Path, wrong: Wiring) -> None:
    decoder = decoder_for(tmp_path, SMALL, wrong)
    assert generate(decoder, PROMPT, TOKENS).output == plain_greedy(decoder, PROMPT, TOKENS)


def test_counters_add_up_to_the_output(tmp_path: Path) -> None:
    decoder = decoder_for(tmp_path, SMALL)
    foretold = Foretold(decoder, plain_greedy(decoder, PROMPT, TOKENS))
    grown = [len(foretold.step())]
    while foretold.finish is None:
        grown.append(len(foretold.step()))
    counters = foretold.counters
    assert counters.verify_steps == len(grown) - 1 == sum(counters.histogram)
    assert counters.correct_drafts == sum(i * count for i, count in enumerate(counters.histogram))
    assert len(counters.histogram) == decoder.num_steps + 1
    # One token of the prefill, one and the correct drafts of each step; the limit cut off the rest.
    cut = 1 + counters.verify_steps + counters.correct_drafts - len(foretold.output)
    assert sum(grown) == len(foretold.output) == TOKENS
    assert 0 <= cut <= decoder.num_steps


def test_the_drafts_cache_holds_true_states_alone_after_a_step(tmp_path: Path) -> None:
    decoder = decoder_for(tmp_path, SMALL)
    foretold = Foretold(decoder, plain_greedy(decoder, PROMPT, TOKENS))
    for _ in range(5):
        foretold.step()
    text = PROMPT + foretold.output
    fresh = decoder.target.forward(text[:-1], decoder.target.new_cache())
    assert decoder.draft is not None
    cache = decoder.draft.new_cache()
    with torch.inference_mode():
        logits, hidden = decoder.draft(torch.tensor(text[1:]), decoder.fused(fresh, len(text) - 1), cache)
    assert foretold._draft_cache is not None
    used = foretold._draft_cache
    assert used.length == cache.length == len(text) - 1
    assert torch.allclose(used.keys[:, : used.length], cache.keys[:, : cache.length], atol=1e-5)
    assert torch.allclose(foretold._hidden, hidden, atol=1e-5)
    assert foretold._next_draft == decoder.draft.target_ids[logits.argmax()]


def test_a_stop_token_ends_the_output_within_a_step(tmp_path: Path) -> None:
    decoder = decoder_for(tmp_path, SMALL)
    truth = plain_greedy(decoder, PROMPT, TOKENS)
    done = generate(decoder, PROMPT, TOKENS, stop_ids={truth[4]})
    assert done.output == truth[: truth.index(truth[4]) + 1]
    assert done.finish is not None
    assert (done.finish.kind, done.finish.value) == ("stop", truth[4])


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_short_outputs_end_by_their_length(tmp_path: Path, limit: int) -> None:
    done = generate(decoder_for(tmp_path, SMALL), PROMPT, limit)
    assert len(done.output) == limit
    assert done.finish is not None
    assert (done.finish.kind, done.finish.value) == ("length", limit)


def test_fc_order_moves_the_blocks_of_the_fc_input(tmp_path: Path) -> None:
    decoder = decoder_for(tmp_path, SMALL)
    assert decoder.draft is not None
    output = decoder.target.forward(PROMPT, decoder.target.new_cache())
    moved = Decoder(decoder.target, decoder.draft, Wiring(SMALL.boundaries, fc_order=(1, 2, 0)), 3)
    a, b, c = output.states.split(SMALL.hidden, dim=-1)
    with torch.inference_mode():
        assert torch.equal(moved.fused(output, 6), decoder.draft.fuse(torch.cat((b, c, a), dim=-1)))
        skipped = Decoder(decoder.target, decoder.draft, Wiring(SMALL.boundaries, use_fc=False), 3)
        assert torch.equal(skipped.fused(output, 6), output.final)


def test_d2t_leads_from_draft_ids_to_target_ids(tmp_path: Path) -> None:
    decoder = decoder_for(tmp_path, SMALL)
    stored = load_file(tmp_path / "draft" / "model.safetensors")
    assert decoder.draft is not None
    ids = decoder.draft.target_ids
    assert torch.equal(ids, stored["d2t"] + torch.arange(SMALL.draft_vocab))
    assert torch.equal(ids, stored["t2d"].nonzero().flatten())
    dropped = decoder_for(tmp_path, SMALL, Wiring(SMALL.boundaries, use_d2t=False))
    assert dropped.draft is not None
    assert torch.equal(dropped.draft.target_ids, torch.arange(SMALL.draft_vocab))


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("fc.weight", None, "the tensor fc.weight is missing"),
        (
            "lm_head.weight",
            torch.zeros(63, 64),
            r"expected lm_head.weight of shape \[64, 64\], got \[63, 64\]",
        ),
        ("d2t", torch.full((64,), 90), "d2t leads 64 draft ids to target ids 90..153"),
    ],
)
def test_a_broken_draft_is_refused_by_the_tensors_name(
    tmp_path: Path, name: str, change: torch.Tensor | None, said: str
) -> None:
    target_folder, draft_folder = write_random_pair(tmp_path, replace(SMALL, tied=True))
    tensors = load_file(draft_folder / "model.safetensors")
    if change is None:
        del tensors[name]
    else:
        tensors[name] = change
    save_file(tensors, draft_folder / "model.safetensors")
    target = load_target(target_folder, dtype=torch.float32, device="cpu", boundaries=SMALL.boundaries)
    with pytest.raises(ReferenceFailure, match=said):
        load_draft(draft_folder, target.embedding(), dtype=torch.float32)
