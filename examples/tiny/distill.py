"""Train the EAGLE-3 draft of a frozen target: fc over captured boundaries, training-time test."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from pretrain import learning_rate, optimizer_for
from torch.nn import functional
from transformers import DynamicCache, LlamaForCausalLM

from eaglecfg.reference.draft import Draft, Rotary, rotate
from eaglecfg.reference.target import BoundaryCapture

DECAY = 0.8  # weight of each further step of training-time test, as in EAGLE-3


@dataclass(frozen=True, slots=True)
class Views:
    """What the frozen target shows of a batch of W tokens; W - 1 rows for the draft.

    ``embeds``: [B, W-1, H], token r + 1 at row r. ``states``: [B, W-1, k * H].
    ``logits``: [B, W-1, V], the target's prediction one position after row r: what the draft has to say.
    """

    embeds: torch.Tensor
    states: torch.Tensor
    logits: torch.Tensor


@torch.no_grad()
def look(model: LlamaForCausalLM, capture: BoundaryCapture, batch: torch.Tensor) -> Views:
    """Run the target over [B, W] token ids."""
    logits = model(input_ids=batch, use_cache=False).logits
    states = torch.cat(capture.take(), dim=-1).float()
    return Views(model.model.embed_tokens(batch[:, 1:]).float(), states[:, :-1], logits[:, 1:])


def delayed(x: torch.Tensor, rows: int) -> torch.Tensor:
    """x of [..., T, D] moved ``rows`` rows down, zeros in front: row r holds what stood at r - rows."""
    return functional.pad(x, (0, 0, rows, 0))[..., : x.shape[-2], :] if rows else x


class TestTimeUnroll:
    """Training-time test: each further step sees the draft's own hidden state in the place of the target's.

    At step s, row r stands for the s-th draft of a chain that began s rows earlier: it attends to the rows
    up to r - s of step 0 (true states) and to its own chain's rows of steps 1..s.
    """

    def __init__(self, draft: Draft, rotary: Rotary) -> None:
        self.draft = draft
        self.rotary = rotary

    def _attend(self, q: torch.Tensor, memory: list[tuple[torch.Tensor, torch.Tensor]]) -> torch.Tensor:
        step = len(memory) - 1
        keys, values = memory[0]
        if step == 0:
            return functional.scaled_dot_product_attention(q, keys, values, is_causal=True)
        scale = 1 / math.sqrt(q.shape[-1])
        scores = (q @ keys.transpose(-1, -2)).float() * scale
        seen = torch.ones(q.shape[-2], q.shape[-2], dtype=torch.bool, device=q.device).tril(-step)
        scores = scores.masked_fill(~seen, float("-inf"))
        chain = [(delayed(k, step - j), delayed(v, step - j)) for j, (k, v) in enumerate(memory[1:], 1)]
        own = [(q * k).sum(-1, keepdim=True).float() * scale for k, _ in chain]
        weights = torch.cat([scores, *own], dim=-1).softmax(-1).to(q.dtype)
        out = weights[..., : -len(own)] @ values
        for j, (_, v) in enumerate(chain):
            column = weights.shape[-1] - len(own) + j
            out = out + weights[..., column : column + 1] * v
        return out

    def __call__(self, views: Views, steps: int) -> Iterator[torch.Tensor]:
        """Draft logits of each step, [B, W-1, draft vocabulary]; rows below the step mean nothing."""
        layer, shape = self.draft.midlayer, self.draft.shape
        count = views.embeds.shape[1]
        cos, sin = self.rotary.at(0, count)
        embeds = layer.input_layernorm(views.embeds)
        hidden = self.draft.fuse(views.states)
        memory: list[tuple[torch.Tensor, torch.Tensor]] = []
        for _ in range(steps):
            wide = torch.cat((embeds, layer.hidden_norm(hidden)), dim=-1)

            def heads(projection: torch.nn.Module, wide: torch.Tensor = wide) -> torch.Tensor:
                return projection(wide).unflatten(-1, (-1, shape.head_dim)).transpose(1, 2)

            groups = shape.heads // shape.kv_heads
            keys = rotate(heads(layer.self_attn.k_proj), cos, sin).repeat_interleave(groups, 1)
            values = heads(layer.self_attn.v_proj).repeat_interleave(groups, 1)
            memory.append((keys, values))
            out = self._attend(rotate(heads(layer.self_attn.q_proj), cos, sin), memory)
            stream = hidden + layer.self_attn.o_proj(out.transpose(1, 2).flatten(2))
            stream = stream + layer.mlp(layer.post_attention_layernorm(stream))
            yield self.draft.lm_head(self.draft.norm(stream))
            hidden = delayed(stream, 1)


@torch.no_grad()
def continuations(
    model: LlamaForCausalLM, prompts: torch.Tensor, length: int, temperature: torch.Tensor
) -> torch.Tensor:
    """The target's own text: [B, P] prompts grown to [B, length]; temperature [B, 1], 0 is greedy."""
    cache = DynamicCache(config=model.config)
    name = "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"
    tokens, fresh = [prompts], prompts
    for _ in range(length - prompts.shape[1]):
        logits = (
            model(input_ids=fresh, use_cache=True, logits_to_keep=1, **{name: cache}).logits[:, -1].float()
        )
        noise = -torch.empty_like(logits).exponential_().log()
        fresh = (logits + temperature * noise).argmax(-1, keepdim=True)
        tokens.append(fresh)
    return torch.cat(tokens, dim=1)


def loss_of(unroll: TestTimeUnroll, views: Views, target_ids: torch.Tensor, steps: int) -> torch.Tensor:
    """Cross entropy with the target's distribution on the draft vocabulary, where its first choice is."""
    known = torch.zeros(views.logits.shape[-1], dtype=torch.bool, device=target_ids.device)
    known[target_ids] = True
    wanted = known[views.logits.argmax(-1)]
    soft = views.logits[..., target_ids].float().softmax(-1)
    total = torch.zeros((), device=target_ids.device)
    for step, logits in enumerate(unroll(views, steps)):
        rows = wanted.clone()
        rows[:, :step] = False
        each = -(soft * logits.float().log_softmax(-1)).sum(-1)
        total = total + DECAY**step * (each * rows).sum() / rows.sum().clamp(min=1)
    return total


@torch.no_grad()
def expected_length(unroll: TestTimeUnroll, views: Views, target_ids: torch.Tensor, steps: int) -> float:
    """Accept length of chains begun at every row of greedy text: 1 + mean of the matching prefix."""
    first_choice = views.logits.argmax(-1)
    alive = torch.ones_like(first_choice, dtype=torch.bool)
    total = 1.0
    for step, logits in enumerate(unroll(views, steps)):
        right = target_ids[logits.argmax(-1)] == first_choice
        alive = right if step == 0 else right & functional.pad(alive, (1, 0))[:, :-1]
        total += float(alive[:, steps:].float().mean())
    return total


def train_draft(
    model: LlamaForCausalLM,
    draft: Draft,
    raw: dict[str, object],
    boundaries: tuple[int, ...],
    batches: Iterator[torch.Tensor],
    *,
    steps: int,
    ttt_steps: int,
) -> None:
    """Train ``draft`` in place on token batches; the target stays as it is."""
    device = next(model.parameters()).device
    draft.to(device).float().train()
    capture = BoundaryCapture(model.model.layers, model.model.norm, boundaries)
    rotary = Rotary(raw, draft.shape.head_dim, device, torch.float32)
    unroll = TestTimeUnroll(draft, rotary)
    optimizer = optimizer_for(list(draft.parameters()), decay=0.05)
    begun = time.monotonic()
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, steps, peak=2e-3, warm_up=100)
        views = look(model, capture, next(batches))
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            loss = loss_of(unroll, views, draft.target_ids, ttt_steps)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(draft.parameters(), 1.0)
        optimizer.step()
        if step % 250 == 0 or step == steps - 1:
            print(f"draft step {step} loss {loss.item():.3f} ({time.monotonic() - begun:.0f} s)", flush=True)
    capture.close()
    draft.eval()
