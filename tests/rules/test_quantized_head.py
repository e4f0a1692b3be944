"""A head in eight bits, which most methods of quantisation leave to be built plain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eaglecfg.rules.model import Severity
from tests.rules.pairs import check, serious
from tests.rules.shapes.test_scales import FLOAT, TOKEN, compressed, export

ROWS = {"lm_head.weight": ["F8_E4M3", [256, 256]], "lm_head.weight_scale": ["F32", [256, 1]]}
SINGLE = {**ROWS, "lm_head.weight_scale": ["F32", [1]]}
EAGER = {"server": {"disable_cuda_graph": True}}


def block(*targets: str) -> dict[str, Any]:
    """compressed-tensors with a second group for ``targets``."""
    out = compressed(FLOAT, TOKEN, "float-quantized")
    if targets:
        out["config_groups"]["group_1"] = {**out["config_groups"]["group_0"], "targets": list(targets)}
    return out


@pytest.mark.parametrize("engine", ["0.5.9", "0.5.14", "0.5.18", "0.5.19", "0.5.23"])
@pytest.mark.parametrize(
    ("form", "said"), [("compressed", block()), ("fp8", {"quant_method": "fp8"})], ids=["compressed", "fp8"]
)
def test_a_head_that_the_method_leaves_plain_loses_its_scales(
    tmp_path: Path, engine: str, form: str, said: dict[str, Any]
) -> None:
    draft = {"config": {"quantization_config": said}, "tensors": {**export(form), **ROWS}}
    found = serious(check(tmp_path, engine=engine, draft=draft, deployment=EAGER))
    assert set(found) == {"EC268"}
    assert found["EC268"].severity in (None, Severity.ERROR)
    assert "lm_head.weight is stored as F8_E4M3" in found["EC268"].message


@pytest.mark.parametrize("target", ["lm_head", "re:.*lm_head", "re:lm_head$"])
@pytest.mark.parametrize(("engine", "quantised"), [("0.5.18", False), ("0.5.19", True), ("0.5.23", True)])
def test_a_target_that_names_the_head_counts_where_the_engine_looks(
    tmp_path: Path, engine: str, target: str, quantised: bool
) -> None:
    draft = {"config": {"quantization_config": block(target)}, "tensors": {**export("compressed"), **ROWS}}
    found = serious(check(tmp_path, engine=engine, draft=draft))
    assert ("EC268" in found) is not quantised


@pytest.mark.parametrize("target", ["Linear", "head", "re:head", "model.lm_head", "re:.*down_proj"])
def test_a_target_beside_the_name_does_not_reach_the_head(tmp_path: Path, target: str) -> None:
    draft = {"config": {"quantization_config": block(target)}, "tensors": {**export("compressed"), **ROWS}}
    assert "EC268" in serious(check(tmp_path, draft=draft))


def test_one_scale_for_the_whole_head_keeps_the_order_of_tokens(tmp_path: Path) -> None:
    found = serious(check(tmp_path, draft={"tensors": SINGLE}))["EC268"]
    assert found.severity is Severity.WARNING
    assert "order" in found.why


def test_a_head_that_declares_nothing_is_found_beside_plain_layers(tmp_path: Path) -> None:
    found = serious(check(tmp_path, draft={"tensors": ROWS}))
    assert set(found) == {"EC268"}
    assert "no quantization_config" in found["EC268"].message


def test_numbers_without_a_scale_mean_what_they_say(tmp_path: Path) -> None:
    tensors = {"lm_head.weight": ["F8_E4M3", [256, 256]]}
    assert "EC268" not in serious(check(tmp_path, draft={"tensors": tensors}))


def test_a_head_that_is_not_loaded_is_no_matter(tmp_path: Path) -> None:
    draft = {"config": {"tie_word_embeddings": True, "draft_vocab_size": 1024}, "tensors": ROWS}
    assert "EC268" not in serious(check(tmp_path, draft=draft))


def test_what_is_not_known_is_said(tmp_path: Path) -> None:
    said = {"quant_method": "quark"}
    draft = {"config": {"quantization_config": said}, "tensors": ROWS}
    report = check(tmp_path, draft=draft)
    assert "EC268" not in serious(report)
    assert any("quantises lm_head.weight is not known" in skip.reason for skip in report.not_checked)
