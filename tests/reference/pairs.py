"""Small randomly initialised pairs for the tests of the reference decoder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from eaglecfg.reference.decode import Decoder
from eaglecfg.reference.load import load_draft
from eaglecfg.reference.pair import PairShape, write_random_pair
from eaglecfg.reference.target import load_target
from eaglecfg.reference.wiring import Wiring

SMALL = PairShape(
    layers=4,
    hidden=64,
    heads=4,
    kv_heads=2,
    head_dim=16,
    intermediate=96,
    vocab=96,
    draft_intermediate=80,
    draft_vocab=64,
    ids=(0, 1, 2),
    context=256,
    tied=False,
    dtype="float32",
)
SHAPES = {
    "grouped": SMALL,
    "tied": replace(SMALL, tied=True, layers=3, ids=(0, 1)),
    "one head": replace(SMALL, heads=1, kv_heads=1, head_dim=64, ids=(0, 1, 2)),
    "wide heads": replace(SMALL, head_dim=32, kv_heads=4, draft_vocab=96, ids=(1,)),
}


def decoder_for(folder: Path, shape: PairShape, wiring: Wiring | None = None, num_steps: int = 3) -> Decoder:
    """Write a random pair and load it in float32, wired as trained unless told otherwise."""
    torch.set_num_threads(1)
    target_folder, draft_folder = write_random_pair(folder, shape, seed=3)
    wiring = wiring or Wiring(shape.boundaries)
    target = load_target(target_folder, dtype=torch.float32, device="cpu", boundaries=wiring.boundaries)
    draft = load_draft(draft_folder, target.embedding(), dtype=torch.float32, use_d2t=wiring.use_d2t)
    return Decoder(target, draft, wiring, num_steps)


def plain_greedy(decoder: Decoder, prompt: list[int], tokens: int) -> list[int]:
    """Greedy decoding by the target alone, everything recomputed for every token: no cache, no chunks."""
    ids = list(prompt)
    with torch.inference_mode():
        for _ in range(tokens):
            logits = decoder.target.model(input_ids=torch.tensor([ids]), use_cache=False).logits
            decoder.target.capture.take()
            ids.append(int(logits[0, -1].argmax()))
    return ids[len(prompt) :]
