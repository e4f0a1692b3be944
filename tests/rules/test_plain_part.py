"""Quantised drafts with latent attention, whose class takes kv_b_proj apart while it loads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.rules.pairs import LLAMA_SHAPES, MLA_TENSORS, check, mla, serious

SHAPES = {
    **{name: shape for name, shape in LLAMA_SHAPES.items() if name not in MLA_TENSORS},
    **{name: tensor[1] for name, tensor in MLA_TENSORS.items() if tensor},
}
LINEAR = sorted(name for name in SHAPES if "_proj" in name or name == "fc.weight")
KV_B = "midlayer.self_attn.kv_b_proj.weight"
FP8 = {"quant_method": "fp8", "weight_block_size": [128, 128]}


def quantised(
    block: dict[str, Any], dtype: str, weight: str, *scales: str, plain: tuple[str, ...] = ()
) -> Any:
    tensors: dict[str, Any] = {}
    for name in LINEAR:
        stem = name.removesuffix("weight")
        if name not in plain and "norm" not in name:
            tensors[name] = None
            tensors[f"{stem}{weight}"] = [dtype, SHAPES[name]]
            tensors |= {f"{stem}{scale}": ["F32", [1]] for scale in scales}
    return mla({"quantization_config": block}, tensors)


@pytest.mark.parametrize("version", ["0.5.15", "0.5.17", "0.5.23"])
def test_8_bit_weights_stop_the_server(version: str, tmp_path: Path) -> None:
    found = serious(
        check(tmp_path, engine=version, draft=quantised(FP8, "F8_E4M3", "weight", "weight_scale_inv"))
    )
    assert set(found) == {"EC271"}
    assert "kv_b_proj" in found["EC271"].message


@pytest.mark.parametrize("version", ["0.5.12", "0.5.14"])
def test_so_they_do_where_fc_is_plain(version: str, tmp_path: Path) -> None:
    draft = quantised(FP8, "F8_E4M3", "weight", "weight_scale_inv", plain=("fc.weight",))
    assert set(serious(check(tmp_path, engine=version, draft=draft))) == {"EC271"}


def test_packed_weights_stop_it_too(tmp_path: Path) -> None:
    draft = quantised({"quant_method": "awq"}, "I32", "qweight", "qzeros", "scales")
    assert "EC271" in serious(check(tmp_path, draft=draft))


def test_a_plain_weight_is_built_quantised_unless_it_is_left_out(tmp_path: Path) -> None:
    draft = quantised(FP8, "F8_E4M3", "weight", "weight_scale_inv", plain=(KV_B,))
    found = serious(check(tmp_path / "built", draft=draft))
    assert "built otherwise" in found["EC271"].message
    draft["config"]["quantization_config"] = {**FP8, "ignored_layers": ["kv_b_proj"]}
    report = check(tmp_path / "left", draft=draft)
    assert not serious(report)
    assert any(KV_B in skipped.reason for skipped in report.not_checked)


def test_fc_is_quantised_where_the_class_builds_it_so(tmp_path: Path) -> None:
    draft = quantised(FP8, "F8_E4M3", "weight", "weight_scale_inv", plain=("fc.weight",))
    found = serious(check(tmp_path, engine="0.5.15", draft=draft))
    assert "fc.weight_scale_inv" in found["EC223"].message


def test_a_form_that_was_not_read_is_unchecked_where_the_weight_is_plain(tmp_path: Path) -> None:
    draft = mla({"quantization_config": {"quant_method": "quark"}})
    report = check(tmp_path, draft=draft)
    assert "EC271" not in serious(report)
    assert any(skipped.rule.id == "EC271" for skipped in report.not_checked)
