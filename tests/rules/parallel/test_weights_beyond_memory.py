"""EC421: weights that cannot fit, told only where that is certain."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.checkpoint.facts import TensorFact
from eaglecfg.rules.examples import HIDDEN, LAYERS, VOCABULARY, _target_tensors
from eaglecfg.rules.model import Finding, Severity
from eaglecfg.rules.parallel.ec421_weights_beyond_memory import at_most
from eaglecfg.rules.parallel.weight_bytes import certain_bytes
from tests.rules.pairs import check

KIB = 1024
PAIR = {name: shape for name, (_, shape) in _target_tensors(LAYERS).items()}
DECODER = 2 * sum(
    prod(shape) for name, shape in PAIR.items() if len(shape) == 2 and not name.startswith("lm_head")
)
"""Bytes of the matrices of the small target, its head not counted."""


def told(folder: Path, memory: int | str, *, count: int = 1, **example: Any) -> Finding | None:
    deployment: dict[str, Any] = dict(example.pop("deployment", {}))
    size = memory if isinstance(memory, str) else f"{memory / KIB:.3f}KiB"
    deployment["hardware"] = {"gpu": "A2", "count": count, "gpu_memory": size}
    report = check(folder, deployment=deployment, **example)
    assert not report.crashes, report.crashes[0].trace
    found = [each for each in report.findings if each.rule.id == "EC421"]
    assert all(each.severity is Severity.ERROR for each in found)
    return found[0].finding if found else None


@pytest.mark.parametrize("engine", ["0.5.4.post1", "0.5.14", "0.5.23"])
def test_the_bound_is_the_decoder(tmp_path: Path, engine: str) -> None:
    assert told(tmp_path / "fits", DECODER + KIB, engine=engine) is None
    finding = told(tmp_path / "not", DECODER - KIB, engine=engine)
    assert finding is not None
    assert finding.path == ("deployments", "chat", "hardware", "gpu_memory")


@pytest.mark.parametrize(
    ("ranks", "parallel"),
    [
        (2, {"tp_size": 2}),
        (2, {"tp_size": 1, "pp_size": 2}),
        (4, {"tp_size": 2, "pp_size": 2}),
        (2, {"tp_size": 2, "dp_size": 2, "enable_dp_attention": True}),
        (1, {"tp_size": 1, "dp_size": 2}),
    ],
)
def test_ranks_share_and_replicas_do_not(tmp_path: Path, ranks: int, parallel: dict[str, Any]) -> None:
    each = DECODER // ranks
    deployment = {"parallel": parallel}
    assert told(tmp_path / "fits", each + KIB, count=4, deployment=deployment) is None
    assert told(tmp_path / "not", each - KIB, count=4, deployment=deployment) is not None


@pytest.mark.parametrize(
    "server",
    [
        {"cpu_offload_gb": 1},
        {"quantization": "fp8"},
        {"torchao_config": "int4wo-128"},
        {"load_format": "bitsandbytes"},
        {"offload_group_size": 4, "offload_num_in_group": 2},
        {"kt_weight_path": "experts"},
        {"device": "cpu"},
        {"encoder_only": True},
        {"json_model_override_args": '{"num_hidden_layers": 1}'},
    ],
    ids=str,
)
def test_weights_that_are_held_otherwise_are_not_judged(tmp_path: Path, server: dict[str, Any]) -> None:
    assert told(tmp_path, KIB, deployment={"server": server}) is None


@pytest.mark.parametrize(
    "server",
    [
        {"cpu_offload_gb": 0},
        {"load_format": "auto"},
        {"load_format": "dummy"},
        {"device": "cuda"},
        {"dtype": "float16"},
        {"disaggregation_mode": "prefill"},
    ],
    ids=str,
)
def test_what_leaves_the_weights_where_they_are_is_no_excuse(tmp_path: Path, server: dict[str, Any]) -> None:
    assert told(tmp_path, DECODER - KIB, deployment={"server": server}) is not None


def test_wide_floats_may_be_cast(tmp_path: Path) -> None:
    tensors = {name: ["F32", shape] for name, shape in PAIR.items()}
    target = {"config": {"dtype": "float32"}, "tensors": tensors}
    assert told(tmp_path / "fits", DECODER + KIB, target=target) is None
    assert told(tmp_path / "not", DECODER - KIB, target=target) is not None


@pytest.mark.parametrize(
    "more",
    [
        {"model.vision_tower.layers.0.mlp.fc1.weight": ["BF16", [4096, 4096]]},
        {f"model.layers.{LAYERS}.eh_proj.weight": ["BF16", [4096, 4096]]},
        {"mtp.layers.0.mlp.down_proj.weight": ["BF16", [4096, 4096]]},
        {"model.layers.0.self_attn.rotary_emb.inv_freq": ["F32", [1 << 24]]},
        {"model.layers.0.mlp.down_proj.g_idx": ["I32", [4096, 4096]]},
    ],
    ids=lambda more: next(iter(more)),
)
def test_what_a_server_may_drop_is_not_counted(tmp_path: Path, more: dict[str, Any]) -> None:
    assert told(tmp_path, DECODER + KIB, target={"tensors": more}) is None


def test_a_tied_head_is_not_counted(tmp_path: Path) -> None:
    assert told(tmp_path, DECODER + KIB, target={"config": {"tie_word_embeddings": True}}) is None
    assert 2 * VOCABULARY * HIDDEN > KIB


@pytest.mark.parametrize(
    ("dtype", "name", "quantized", "size"),
    [
        ("BF16", "model.layers.0.mlp.up_proj.weight", False, 2 * 64),
        ("F64", "model.layers.0.mlp.up_proj.weight", False, 2 * 64),
        ("BF16", "model.layers.0.mlp.up_proj.weight", True, 32),
        ("F8_E4M3", "model.layers.0.mlp.up_proj.weight", True, 64),
        ("I32", "model.layers.0.mlp.up_proj.qweight", True, 4 * 64),
        ("U8", "model.layers.0.mlp.experts.gate_up_proj_blocks", True, 64),
        ("U8", "model.layers.0.mlp.experts.gate_up_proj_scales", True, 0),
        ("BF16", "language_model.model.layers.3.mlp.experts.gate_up_proj", False, 2 * 64),
        ("BF16", "model.language_model.layers.3.mlp.up_proj.weight", False, 2 * 64),
        ("BF16", "model.layers.4.mlp.up_proj.weight", False, 0),
        ("BF16", "vision_model.encoder.layers.0.mlp.fc1.weight", False, 0),
        ("BF16", "model.embed_tokens.weight", False, 2 * 64),
        ("BF16", "lm_head.weight", False, 0),
        ("BF16", "transformer.h.0.mlp.weight", False, 0),
    ],
)
def test_what_counts(dtype: str, name: str, quantized: bool, size: int) -> None:
    tensor = TensorFact(name, dtype, (8, 8), "model.safetensors")
    assert certain_bytes([tensor], 4, quantized=quantized) == size


def test_shards_that_are_not_opened_count_too(tmp_path: Path) -> None:
    assert told(tmp_path / "fits", DECODER + KIB, target={"shards": 6}) is None
    assert told(tmp_path / "not", DECODER - KIB, target={"shards": 6}) is not None


@pytest.mark.parametrize("hardware", [None, {"gpu": "A2"}, {"gpu": "A2", "gpu_memory": "much"}])
def test_unknown_memory_is_not_judged(tmp_path: Path, hardware: Mapping[str, Any] | None) -> None:
    report = check(tmp_path, deployment={"hardware": hardware})
    assert "EC421" not in {each.rule.id for each in report.findings}


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("24GiB", 24 << 30),
        ("24GB", 24 << 30),
        ("24 G", 24 << 30),
        ("24gb", 24 << 30),
        ("81559MiB", 81559 << 20),
        ("1TB", 1 << 40),
        ("0GiB", None),
        ("much", None),
    ],
)
def test_memory_is_taken_for_the_most_that_it_can_mean(text: str, size: int | None) -> None:
    assert at_most(text) == size


def test_the_finding_shows_the_sum(tmp_path: Path) -> None:
    finding = told(tmp_path, "1KiB", deployment={"parallel": {"tp_size": 2}}, count=2)
    assert finding is not None
    assert "tp_size 2" in finding.message
    assert finding.values["ranks"] == 2
    assert finding.values["least_bytes"] == DECODER // 2
    assert "÷ 2" in finding.arithmetic[0]
