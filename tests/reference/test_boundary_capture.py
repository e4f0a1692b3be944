"""The boundaries that pre-hooks capture are the residual streams that a hand computation finds."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from pairs import SHAPES
from safetensors.torch import load_file

from eaglecfg.reference.failure import ReferenceFailure
from eaglecfg.reference.pair import PairShape, write_random_pair
from eaglecfg.reference.target import load_target

PROMPT = [5, 9, 2, 44, 17, 9, 3]


def norm(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    return weight * x / (x.pow(2).mean(-1, keepdim=True) + eps).sqrt()


def turn(x: torch.Tensor, theta: float) -> torch.Tensor:
    """Rotary positions as complex multiplication; x: [heads, T, head_dim]."""
    half = x.shape[-1] // 2
    frequency = theta ** (-torch.arange(half, dtype=torch.float64) / half)
    angle = torch.arange(x.shape[-2], dtype=torch.float64)[:, None] * frequency
    turned = torch.complex(x[..., :half].double(), x[..., half:].double()) * torch.polar(
        torch.ones_like(angle), angle
    )
    return torch.cat((turned.real, turned.imag), dim=-1)


def streams_by_hand(
    shape: PairShape, weights: dict[str, torch.Tensor], prompt: list[int]
) -> list[torch.Tensor]:
    """The residual stream at boundaries 0..n, [T, H] each, from the tensors of the file, in float64."""
    w = {name: tensor.double() for name, tensor in weights.items()}
    x = w["model.embed_tokens.weight"][prompt]
    streams = [x]
    future = torch.ones(len(prompt), len(prompt)).triu(1).bool()
    for i in range(shape.layers):
        layer = f"model.layers.{i}."
        h = norm(x, w[layer + "input_layernorm.weight"], shape.eps)

        def heads(name: str, h: torch.Tensor = h, layer: str = layer) -> torch.Tensor:
            projected = h @ w[f"{layer}self_attn.{name}_proj.weight"].T
            return projected.view(len(prompt), -1, shape.head_dim).transpose(0, 1)

        q, k, v = turn(heads("q"), shape.rope_theta), turn(heads("k"), shape.rope_theta), heads("v")
        k, v = (t.repeat_interleave(shape.heads // shape.kv_heads, 0) for t in (k, v))
        scores = (q @ k.transpose(1, 2) / shape.head_dim**0.5).masked_fill(future, float("-inf"))
        mixed = (scores.softmax(-1) @ v).transpose(0, 1).reshape(len(prompt), -1)
        x = x + mixed @ w[layer + "self_attn.o_proj.weight"].T
        h = norm(x, w[layer + "post_attention_layernorm.weight"], shape.eps)
        gate, up = h @ w[layer + "mlp.gate_proj.weight"].T, h @ w[layer + "mlp.up_proj.weight"].T
        x = x + (gate * gate.sigmoid() * up) @ w[layer + "mlp.down_proj.weight"].T
        streams.append(x)
    return streams


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_every_boundary_is_the_stream_entering_its_layer(tmp_path: Path, shape: PairShape) -> None:
    folder, _ = write_random_pair(tmp_path, shape, seed=1)
    target = load_target(folder, dtype=torch.float32, device="cpu", boundaries=range(shape.layers + 1))
    with torch.inference_mode():
        output = target.forward(PROMPT, target.new_cache())
    captured = output.states.chunk(shape.layers + 1, dim=-1)
    by_hand = streams_by_hand(shape, load_file(folder / "model.safetensors"), PROMPT)
    assert len(captured) == shape.layers + 1
    for boundary, (given, wanted) in enumerate(zip(captured, by_hand, strict=True)):
        assert torch.allclose(given.double(), wanted, atol=1e-4), f"boundary {boundary}"


def test_boundary_n_is_taken_before_the_final_norm(tmp_path: Path) -> None:
    shape = SHAPES["grouped"]
    folder, _ = write_random_pair(tmp_path, shape)
    target = load_target(folder, dtype=torch.float32, device="cpu", boundaries=(shape.layers,))
    with torch.inference_mode():
        output = target.forward(PROMPT, target.new_cache())
        after = target.model.model.norm(output.states)
    assert not torch.allclose(output.states, output.final, atol=1e-3)
    assert torch.allclose(after, output.final, atol=1e-5)


def test_states_come_ascending_whatever_order_is_asked(tmp_path: Path) -> None:
    folder, _ = write_random_pair(tmp_path, SHAPES["grouped"])
    outputs = []
    for boundaries in ((1, 2, 4), (4, 1, 2)):
        target = load_target(folder, dtype=torch.float32, device="cpu", boundaries=boundaries)
        outputs.append(target.forward(PROMPT, target.new_cache()).states)
    assert torch.equal(outputs[0], outputs[1])


@pytest.mark.parametrize("boundary", [-1, 5])
def test_a_boundary_outside_the_target_is_refused(tmp_path: Path, boundary: int) -> None:
    folder, _ = write_random_pair(tmp_path, SHAPES["grouped"])
    with pytest.raises(ReferenceFailure, match=rf"boundary {boundary} is outside 0\.\.4"):
        load_target(folder, dtype=torch.float32, device="cpu", boundaries=(2, boundary))
