"""Train the tiny pair: a Llama-family target on Python's own library, and an EAGLE-3 draft for it.

python examples/tiny/train.py --out examples/tiny
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import platform
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from corpus import END, Corpus, Trigram, encode, held_out_prompts, read_corpus, rows, train_tokenizer
from distill import TestTimeUnroll, continuations, expected_length, look, train_draft
from pretrain import perplexity, train_target, windows
from tokenizers import Tokenizer
from transformers import LlamaForCausalLM

from eaglecfg.reference.draft import Draft, Rotary
from eaglecfg.reference.load import shape_of
from eaglecfg.reference.pair import (
    PairShape,
    draft_config,
    write_draft,
    write_json,
    write_random_pair,
    write_target,
)
from eaglecfg.reference.target import BoundaryCapture

SHAPE = PairShape(
    layers=8,
    hidden=256,
    heads=4,
    kv_heads=2,
    head_dim=64,
    intermediate=384,
    vocab=1536,
    draft_intermediate=704,
    draft_vocab=1024,
    ids=(1, 3, 5),
    context=1024,
)
TTT_STEPS = 5
TEXT_LENGTH = 256  # of the target's own text that the draft is trained on


def write_tokenizer(folder: Path, tokenizer: Tokenizer) -> None:
    """tokenizer.json and tokenizer_config.json beside the target."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": END,
            "eos_token": END,
            "model_max_length": SHAPE.context,
            "clean_up_tokenization_spaces": False,
        },
    )


def own_text(
    model: LlamaForCausalLM, tokens: np.ndarray, rounds: int, batch: int, device: str, seed: int
) -> torch.Tensor:
    """The target's own text after windows of ``tokens``, [N, TEXT_LENGTH]; three in four rows are greedy."""
    rng = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    source = torch.from_numpy(tokens).to(device)
    texts = []
    for i in range(rounds):
        prompts = next(windows(source, batch, (32, 64, 96, 128)[i % 4], rng))
        temperature = torch.zeros(batch, 1, device=device)
        temperature[: batch // 4] = 0.8
        texts.append(continuations(model, prompts, TEXT_LENGTH, temperature))
    return torch.cat(texts)


def mixed(texts: torch.Tensor, tokens: np.ndarray, batch: int, seed: int) -> Iterator[torch.Tensor]:
    """Batches of TEXT_LENGTH tokens: two of the target's own text, then one of the corpus."""
    rng = torch.Generator().manual_seed(seed)
    corpus = windows(torch.from_numpy(tokens).to(texts.device), batch, TEXT_LENGTH, rng)
    while True:
        for _ in range(2):
            yield texts[torch.randint(len(texts), (batch,), generator=rng).to(texts.device)]
        yield next(corpus)


def frequent_ids(texts: torch.Tensor, tokens: np.ndarray) -> list[int]:
    """The draft vocabulary: the most frequent target ids of both kinds of text, ascending."""
    own = torch.bincount(texts.flatten().cpu(), minlength=SHAPE.vocab).double()
    corpus = torch.bincount(torch.from_numpy(tokens), minlength=SHAPE.vocab).double()
    weight = 2 * own / own.sum() + corpus / corpus.sum()
    return sorted(weight.topk(SHAPE.draft_vocab).indices.tolist())


def report_wirings(
    model: LlamaForCausalLM, draft: Draft, raw: dict[str, object], texts: torch.Tensor
) -> None:
    """A quick look at right and wrong boundaries, teacher-forced on held-out greedy text."""
    draft.float()
    rotary = Rotary(raw, SHAPE.head_dim, texts.device, torch.float32)
    unroll = TestTimeUnroll(draft, rotary)
    first, second, third = SHAPE.boundaries
    for name, chosen in {
        "right": (first, second, third),
        "shifted": (first + 1, second + 1, third + 1),
        "embedding first": (0, first, second),
    }.items():
        capture = BoundaryCapture(model.model.layers, model.model.norm, chosen)
        with torch.autocast(texts.device.type, torch.bfloat16, enabled=texts.is_cuda):
            lengths = [
                expected_length(unroll, look(model, capture, part), draft.target_ids, 3)
                for part in texts.split(64)
            ]
        capture.close()
        print(
            f"expected accept length at 3 steps, {name} {chosen}: {sum(lengths) / len(lengths):.3f}",
            flush=True,
        )


def stage_target(options: argparse.Namespace, corpus: Corpus, out: Path) -> Tokenizer:
    """Tokenizer, target and the two perplexities."""
    tokenizer = train_tokenizer((text for _, text in corpus.train), SHAPE.vocab)
    write_tokenizer(out / "target", tokenizer)
    tokens, held = encode(tokenizer, corpus.train), encode(tokenizer, corpus.held_out)
    held_rows = rows(held, SHAPE.context)
    print(f"corpus {corpus.sha256[:12]}: {len(tokens)} tokens, {len(held)} held out", flush=True)
    trigram = Trigram(tokens, SHAPE.vocab).perplexity(held_rows)
    print(f"held-out perplexity of the trigram model: {trigram:.3f}", flush=True)
    model = train_target(
        SHAPE,
        tokens,
        held_rows,
        steps=options.steps,
        batch=options.batch,
        device=options.device,
        seed=options.seed,
    )
    write_target(out / "target", SHAPE, model.state_dict())
    model = model.to(torch.bfloat16)
    own = perplexity(model, held_rows, options.device)
    print(f"held-out perplexity of the target: {own:.3f}, {own / trigram:.3f} of the trigram's", flush=True)
    (out / "results").mkdir(exist_ok=True)
    write_json(
        out / "results" / "perplexity.json",
        {
            "held_out_tokens": int(held_rows[:, 2:].size),
            "trigram": round(trigram, 4),
            "target": round(own, 4),
        },
    )
    return tokenizer


def stage_draft(options: argparse.Namespace, corpus: Corpus, out: Path, tokenizer: Tokenizer) -> None:
    """Draft, training record and held-out prompts, from the target on disk."""
    model = LlamaForCausalLM.from_pretrained(out / "target", dtype=torch.bfloat16).to(options.device).eval()
    model.requires_grad_(False)
    tokens, held = encode(tokenizer, corpus.train), encode(tokenizer, corpus.held_out)
    texts = own_text(model, tokens, options.text_rounds, options.text_batch, options.device, options.seed)
    print(f"the target's own text: {texts.numel()} tokens", flush=True)
    raw = draft_config(SHAPE)
    torch.manual_seed(options.seed + 1)
    draft = Draft(shape_of(raw, out), raw, model.model.embed_tokens.weight)
    torch.nn.init.normal_(draft.lm_head.weight, std=0.02)
    ids = frequent_ids(texts, tokens)
    draft.target_ids = torch.tensor(ids)
    print(f"draft vocabulary covers {np.isin(held, ids).mean():.4f} of held-out tokens", flush=True)
    batches = mixed(texts, tokens, options.draft_batch, options.seed)
    train_draft(model, draft, raw, SHAPE.boundaries, batches, steps=options.draft_steps, ttt_steps=TTT_STEPS)
    tensors = dict(draft.named_parameters())
    write_draft(out / "draft", SHAPE, tensors, ids)
    write_json(
        out / "draft" / "eaglecfg-training.json",
        {
            "version": 1,
            "boundaries": list(SHAPE.boundaries),
            "ttt_steps": TTT_STEPS,
            "target_sha256": hashlib.sha256((out / "target" / "model.safetensors").read_bytes()).hexdigest(),
            "corpus": "the Python standard library",
            "corpus_sha256": corpus.sha256,
            "python_version": platform.python_version(),
            "torch_version": torch.__version__,
            "seed": options.seed,
        },
    )
    greedy = torch.zeros(256, 1, device=options.device)
    prompts = next(
        windows(torch.from_numpy(held).to(options.device), 256, 64, torch.Generator().manual_seed(0))
    )
    report_wirings(model, draft, raw, continuations(model, prompts, TEXT_LENGTH, greedy))


def write_prompts(path: Path, tokenizer: Tokenizer, corpus: Corpus, count: int, seed: int) -> None:
    """``prompts.jsonl``: one prompt of 32 to 128 tokens a line, from files that nothing was trained on."""
    prompts = held_out_prompts(tokenizer, corpus.held_out, count, 32, 128, seed)
    lines = [
        json.dumps({"id": i, "file": name, "input_ids": ids}, separators=(",", ":"))
        for i, (name, ids) in enumerate(prompts)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", type=Path, required=True, help="folder for target/, draft/ and prompts.jsonl"
    )
    parser.add_argument("--stage", choices=("all", "target", "draft"), default="all")
    parser.add_argument(
        "--random-init", action="store_true", help="write an untrained pair of the same shape and stop"
    )
    parser.add_argument("--ids", help="capture layer ids, comma-separated")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=1000, help="of the target")
    parser.add_argument("--batch", type=int, default=32, help="windows of the whole context a target step")
    parser.add_argument("--draft-steps", type=int, default=2000)
    parser.add_argument(
        "--draft-batch", type=int, default=96, help=f"windows of {TEXT_LENGTH} tokens a draft step"
    )
    parser.add_argument("--text-rounds", type=int, default=16, help="of the target's own text")
    parser.add_argument("--text-batch", type=int, default=1024, help="continuations a round")
    parser.add_argument("--prompts", type=int, default=1024)
    return parser.parse_args()


def main() -> None:
    """Run the asked stages."""
    global SHAPE
    options = parse()
    if options.ids:
        SHAPE = dataclasses.replace(SHAPE, ids=tuple(int(i) for i in options.ids.split(",")))
    if options.random_init:
        write_random_pair(options.out, SHAPE, options.seed, scale=0.02)
        return
    begun = time.monotonic()
    corpus = read_corpus()
    if options.stage in ("all", "target"):
        tokenizer = stage_target(options, corpus, options.out)
        write_prompts(options.out / "prompts.jsonl", tokenizer, corpus, options.prompts, options.seed)
    else:
        tokenizer = Tokenizer.from_file(str(options.out / "target" / "tokenizer.json"))
    if options.stage in ("all", "draft"):
        stage_draft(options, corpus, options.out, tokenizer)
    print(f"done in {time.monotonic() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main()
