"""The bias of o_proj, which two keys switch on and which old versions do not start at zero."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.rules.pairs import check, serious

BIAS = "midlayer.self_attn.o_proj.bias"
FC = {"fc.bias": ["BF16", [256]]}
EAGER = {"server": {"disable_cuda_graph": True}}
"""Without graphs, of which old versions have faults of their own."""
HELD = {BIAS: ["BF16", [256]]}


@pytest.mark.parametrize("engine", ["0.5.8.post1", "0.5.9", "0.5.23"])
@pytest.mark.parametrize(
    ("config", "tensors"),
    [({"attention_bias": True}, HELD), ({"bias": True}, FC | HELD), ({"attention_bias": 1}, HELD)],
)
def test_a_bias_that_is_asked_for_and_there_is_right(
    tmp_path: Path, engine: str, config: dict[str, Any], tensors: dict[str, Any]
) -> None:
    found = serious(check(tmp_path, engine=engine, draft={"config": config, "tensors": tensors}))
    assert {"EC223", "EC225", "EC226", "EC227", "EC234"}.isdisjoint(found)


def test_a_bias_that_no_key_asks_for_is_dropped(tmp_path: Path) -> None:
    found = serious(check(tmp_path, draft={"tensors": HELD}))
    assert BIAS in found["EC227"].message


@pytest.mark.parametrize("asked", [True, False])
def test_biases_of_q_are_dropped_whatever_the_config_says(tmp_path: Path, asked: bool) -> None:
    tensors = {"midlayer.self_attn.q_proj.bias": ["BF16", [256]], **HELD}
    found = serious(check(tmp_path, draft={"config": {"attention_bias": asked}, "tensors": tensors}))
    assert "q_proj.bias" in found["EC227"].message
    assert (BIAS in found["EC227"].message) is not asked


@pytest.mark.parametrize("engine", ["0.5.4.post1", "0.5.6.post2", "0.5.8.post1"])
@pytest.mark.parametrize(("key", "tensors"), [("attention_bias", {}), ("bias", FC)])
def test_a_missing_bias_is_named_where_it_starts_uninitialised(
    tmp_path: Path, engine: str, key: str, tensors: dict[str, Any]
) -> None:
    changed = {"config": {key: True}, "tensors": tensors}
    found = serious(check(tmp_path, engine=engine, draft=changed, deployment=EAGER))
    assert set(found) == {"EC223"}
    assert f"sets {key}, but the draft's files have no {BIAS}" in found["EC223"].message
    assert "false" in (found["EC223"].help or "") if key == "attention_bias" else True


@pytest.mark.parametrize("engine", ["0.5.9", "0.5.14", "0.5.23"])
@pytest.mark.parametrize(("key", "tensors"), [("attention_bias", {}), ("bias", FC)])
def test_a_missing_bias_is_harmless_where_it_starts_at_zero(
    tmp_path: Path, engine: str, key: str, tensors: dict[str, Any]
) -> None:
    changed = {"config": {key: True}, "tensors": tensors}
    found = serious(check(tmp_path, engine=engine, draft=changed, deployment=EAGER))
    assert found == {}


def test_a_bias_of_another_length_stops_the_server(tmp_path: Path) -> None:
    tensors = {BIAS: ["BF16", [128]]}
    found = serious(check(tmp_path, draft={"config": {"attention_bias": True}, "tensors": tensors}))
    assert BIAS in found["EC225"].message
