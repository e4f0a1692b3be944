"""Train the target from scratch: next-token prediction, AdamW, one cosine."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np
import torch
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM

from eaglecfg.reference.pair import PairShape, target_config


def build_target(shape: PairShape) -> LlamaForCausalLM:
    """A randomly initialised target; what is added to the residual stream starts small, as in GPT-2."""
    raw = target_config(shape)
    for key in ("architectures", "torch_dtype", "dtype", "rope_theta"):
        raw.pop(key)
    model = LlamaForCausalLM(LlamaConfig(**raw))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(("o_proj.weight", "down_proj.weight")):
                parameter.mul_(1 / math.sqrt(2 * shape.layers))
    return model


def add_dropout(model: LlamaForCausalLM, share: float) -> None:
    """Drop a share of what each block adds to the residual stream, while training: the corpus is small."""

    def drop(module: torch.nn.Module, _args: object, output: torch.Tensor) -> torch.Tensor:
        return functional.dropout(output, share, training=module.training)

    for name, module in model.named_modules():
        if name.endswith(("o_proj", "down_proj")):
            module.register_forward_hook(drop)


def windows(
    tokens: torch.Tensor, batch: int, length: int, generator: torch.Generator
) -> Iterator[torch.Tensor]:
    """Endless random windows, [batch, length], on the device of ``tokens``."""
    span = torch.arange(length)
    while True:
        starts = torch.randint(len(tokens) - length, (batch, 1), generator=generator)
        yield tokens[(starts + span).to(tokens.device)]


def learning_rate(step: int, steps: int, peak: float, warm_up: int) -> float:
    """Linear warm-up, then a cosine to zero."""
    if step < warm_up:
        return peak * (step + 1) / warm_up
    return peak * 0.5 * (1 + math.cos(math.pi * (step - warm_up) / max(1, steps - warm_up)))


def optimizer_for(parameters: list[torch.nn.Parameter], decay: float) -> torch.optim.AdamW:
    """AdamW that decays matrices alone."""
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.95), fused=parameters[0].is_cuda)


def next_token_loss(model: LlamaForCausalLM, batch: torch.Tensor) -> torch.Tensor:
    """Mean cross entropy in nats of tokens 1.. of [B, T]."""
    with torch.autocast(batch.device.type, torch.bfloat16, enabled=batch.is_cuda):
        logits = model(input_ids=batch, use_cache=False).logits[:, :-1]
    return functional.cross_entropy(logits.float().reshape(-1, logits.shape[-1]), batch[:, 1:].reshape(-1))


@torch.no_grad()
def perplexity(model: LlamaForCausalLM, held_out: np.ndarray, device: str) -> float:
    """Perplexity of tokens 2.. of each row of [N, T], which a trigram model can be asked about too."""
    total, count = 0.0, 0
    for part in torch.from_numpy(held_out).split(16):
        batch = part.to(device)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            logits = model(input_ids=batch, use_cache=False).logits[:, 1:-1]
        wanted = batch[:, 2:].reshape(-1)
        total += float(
            functional.cross_entropy(logits.float().reshape(len(wanted), -1), wanted, reduction="sum")
        )
        count += len(wanted)
    return math.exp(total / count)


def train_target(
    shape: PairShape,
    tokens: np.ndarray,
    held_out: np.ndarray,
    *,
    steps: int,
    batch: int,
    device: str,
    seed: int,
) -> LlamaForCausalLM:
    """Train for ``steps`` steps of ``batch`` windows of the whole context and return the model."""
    torch.manual_seed(seed)
    model = build_target(shape).to(device)
    add_dropout(model, 0.1)
    model.train()
    optimizer = optimizer_for(list(model.parameters()), decay=0.2)
    source = windows(
        torch.from_numpy(tokens).to(device), batch, shape.context, torch.Generator().manual_seed(seed)
    )
    begun = time.monotonic()
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, steps, peak=3e-3, warm_up=100)
        loss = next_token_loss(model, next(source))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 250 == 0 or step == steps - 1:
            model.eval()
            held = perplexity(model, held_out[:32], device)
            model.train()
            print(
                f"target step {step} train {math.exp(loss.item()):.2f} held out {held:.2f} "
                f"({time.monotonic() - begun:.0f} s)",
                flush=True,
            )
    return model.eval()
