"""The draft model: SGLang's ``LlamaForCausalLMEagle3`` in plain torch, one sequence at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from eaglecfg.reference.failure import ReferenceFailure


@dataclass(frozen=True, slots=True)
class DraftShape:
    """The numbers of a draft's ``config.json`` that shape its tensors."""

    hidden: int
    target_hidden: int
    states: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    draft_vocab: int
    eps: float
    fc_bias: bool
    norm_output: bool


class RmsNorm(nn.Module):
    """Root mean square norm, computed in float32 as Llama does."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalise the last dimension."""
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * wide.to(x.dtype)


class Rotary:
    """cos and sin of rotary positions, grown on demand; every rope type that transformers knows."""

    def __init__(
        self, raw: Mapping[str, Any], head_dim: int, device: torch.device, dtype: torch.dtype
    ) -> None:
        from transformers import LlamaConfig
        from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

        # Files carry both spellings, for readers old and new; each release of transformers takes its own.
        keys = ("rope_theta", "rope_scaling", "rope_parameters", "max_position_embeddings")
        known = {key: raw[key] for key in keys if raw.get(key) is not None}
        config = LlamaConfig(head_dim=head_dim, hidden_size=head_dim, num_attention_heads=1, **known)
        self._embedding = LlamaRotaryEmbedding(config).to(device)
        self._like = torch.empty(0, device=device, dtype=dtype)
        self._cos = self._sin = torch.empty(0)
        self._length = 0

    def at(self, start: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """cos and sin for ``count`` positions from ``start``, [count, head_dim] each."""
        if start + count > self._length:
            self._length = max(1024, 2 * (start + count))
            positions = torch.arange(self._length, device=self._like.device)[None]
            cos, sin = self._embedding(self._like, positions)
            self._cos, self._sin = cos[0], sin[0]
        return self._cos[start : start + count], self._sin[start : start + count]


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Apply rotary positions to x of [..., T, head_dim], halves convention."""
    low, high = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-high, low), dim=-1) * sin


class DraftCache:
    """Keys and values of the one draft layer for one sequence, [kv_heads, length, head_dim] in use."""

    def __init__(self, shape: DraftShape, like: torch.Tensor, room: int = 256) -> None:
        size = (shape.kv_heads, room, shape.head_dim)
        self.keys = torch.empty(size, dtype=like.dtype, device=like.device)
        self.values = torch.empty_like(self.keys)
        self.length = 0

    def append(self, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Add [kv_heads, T, head_dim] and return everything in use."""
        end = self.length + keys.shape[1]
        if end > self.keys.shape[1]:
            self.keys = functional.pad(self.keys, (0, 0, 0, end))
            self.values = functional.pad(self.values, (0, 0, 0, end))
        self.keys[:, self.length : end] = keys
        self.values[:, self.length : end] = values
        self.length = end
        return self.keys[:, :end], self.values[:, :end]


class Attention(nn.Module):
    """Grouped-query attention over 2 * hidden inputs: embedding and hidden state side by side."""

    def __init__(self, shape: DraftShape) -> None:
        super().__init__()
        self.shape = shape
        wide = 2 * shape.hidden
        self.q_proj = nn.Linear(wide, shape.heads * shape.head_dim, bias=False)
        self.k_proj = nn.Linear(wide, shape.kv_heads * shape.head_dim, bias=False)
        self.v_proj = nn.Linear(wide, shape.kv_heads * shape.head_dim, bias=False)
        self.o_proj = nn.Linear(shape.heads * shape.head_dim, shape.hidden, bias=False)

    def forward(self, x: torch.Tensor, rotary: Rotary, cache: DraftCache) -> torch.Tensor:
        """x: [T, 2 * hidden] at the positions after the cache's; returns [T, hidden]."""
        count, past, shape = x.shape[0], cache.length, self.shape
        cos, sin = rotary.at(past, count)
        q = rotate(self.q_proj(x).view(count, shape.heads, -1).transpose(0, 1), cos, sin)
        k = rotate(self.k_proj(x).view(count, shape.kv_heads, -1).transpose(0, 1), cos, sin)
        v = self.v_proj(x).view(count, shape.kv_heads, -1).transpose(0, 1)
        keys, values = cache.append(k, v)
        groups = shape.heads // shape.kv_heads
        keys, values = keys.repeat_interleave(groups, 0), values.repeat_interleave(groups, 0)
        mask = None
        if count > 1:
            seen = torch.arange(past + count, device=x.device)
            mask = seen[None] <= torch.arange(past, past + count, device=x.device)[:, None]
        out = functional.scaled_dot_product_attention(q[None], keys[None], values[None], attn_mask=mask)[0]
        attended: torch.Tensor = self.o_proj(out.transpose(0, 1).reshape(count, -1))
        return attended


class Mlp(nn.Module):
    """Gated feed-forward block."""

    def __init__(self, shape: DraftShape) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.hidden, shape.intermediate, bias=False)
        self.up_proj = nn.Linear(shape.hidden, shape.intermediate, bias=False)
        self.down_proj = nn.Linear(shape.intermediate, shape.hidden, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [T, hidden]."""
        out: torch.Tensor = self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))
        return out


class Midlayer(nn.Module):
    """The one decoder layer. The residual is the hidden state before its norm."""

    def __init__(self, shape: DraftShape) -> None:
        super().__init__()
        self.input_layernorm = RmsNorm(shape.hidden, shape.eps)
        self.hidden_norm = RmsNorm(shape.hidden, shape.eps)
        self.self_attn = Attention(shape)
        self.post_attention_layernorm = RmsNorm(shape.hidden, shape.eps)
        self.mlp = Mlp(shape)

    def forward(
        self, embeds: torch.Tensor, hidden: torch.Tensor, rotary: Rotary, cache: DraftCache
    ) -> torch.Tensor:
        """embeds, hidden: [T, hidden]; returns the residual stream after the layer, [T, hidden]."""
        wide = torch.cat((self.input_layernorm(embeds), self.hidden_norm(hidden)), dim=-1)
        stream = hidden + self.self_attn(wide, rotary, cache)
        after: torch.Tensor = stream + self.mlp(self.post_attention_layernorm(stream))
        return after


class Draft(nn.Module):
    """The whole draft. ``embed``, [V, H], is the target's, as SGLang too replaces the draft's own."""

    def __init__(self, shape: DraftShape, raw: Mapping[str, Any], embed: torch.Tensor) -> None:
        super().__init__()
        if embed.shape[1] != shape.hidden:
            raise ReferenceFailure(
                f"the target's embedding is {embed.shape[1]} wide, the draft's hidden size is "
                f"{shape.hidden}: the draft cannot share it"
            )
        self.shape = shape
        self.fc = nn.Linear(shape.states * shape.target_hidden, shape.hidden, bias=shape.fc_bias)
        self.midlayer = Midlayer(shape)
        self.norm = RmsNorm(shape.hidden, shape.eps)
        self.lm_head = nn.Linear(shape.hidden, shape.draft_vocab, bias=False)
        self.target_ids: torch.Tensor
        self.register_buffer("target_ids", torch.arange(shape.draft_vocab))
        self._raw = raw
        self._embed = embed.detach()  # detached, or the module would register it as its own
        self._rotary: Rotary | None = None

    def new_cache(self) -> DraftCache:
        """An empty cache for one sequence."""
        return DraftCache(self.shape, self._embed)

    def fuse(self, states: torch.Tensor) -> torch.Tensor:
        """Captured states side by side, [T, k * target hidden], to [T, hidden]."""
        fused: torch.Tensor = self.fc(states)
        return fused

    def forward(
        self, ids: torch.Tensor, hidden: torch.Tensor, cache: DraftCache
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append T tokens. ids: [T], of the target; hidden: [T, H].

        Returns the last position's logits, [draft vocabulary], and hidden state, [1, H].
        """
        if self._rotary is None:
            self._rotary = Rotary(self._raw, self.shape.head_dim, hidden.device, hidden.dtype)
        stream = self.midlayer(self._embed[ids], hidden, self._rotary, cache)[-1:]
        normed = self.norm(stream)
        return self.lm_head(normed)[0], normed if self.shape.norm_output else stream
