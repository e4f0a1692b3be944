"""Layers of a draft whose count or numbers do not fit its config."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eaglecfg.rules.model import Finding
from tests.rules.pairs import LLAMA_SHAPES, check, serious


def found(folder: Path, layers: int, held: tuple[int, ...]) -> Finding | None:
    """What EC228 says of a draft that builds ``layers`` and holds those numbered ``held``."""
    tensors: dict[str, Any] = {}
    for name, shape in LLAMA_SHAPES.items():
        if name.startswith("midlayer."):
            tensors[name] = None
            inner = name.removeprefix("midlayer.")
            for index in held:
                wide = shape if index == 0 or shape[1:] != [512] or "down" in inner else [shape[0], 256]
                tensors[f"layers.{index}.{inner}"] = ["BF16", wide]
    report = check(folder, draft={"config": {"num_hidden_layers": layers}, "tensors": tensors})
    return serious(report).get("EC228")


@pytest.mark.parametrize(("layers", "held"), [(1, (0,)), (2, (0, 1)), (3, (0, 1, 2))])
def test_layers_numbered_from_0_are_right(layers: int, held: tuple[int, ...], tmp_path: Path) -> None:
    assert found(tmp_path, layers, held) is None


@pytest.mark.parametrize(("layers", "held"), [(2, (0,)), (1, (0, 1)), (12, (0, 1))])
def test_another_count_is_written_into_the_config(layers: int, held: tuple[int, ...], tmp_path: Path) -> None:
    said = found(tmp_path, layers, held)
    assert said is not None
    assert said.help.startswith(f'write "num_hidden_layers": {len(held)}')


@pytest.mark.parametrize(
    ("layers", "held"), [(1, (1,)), (1, (31,)), (2, (1, 2)), (2, (0, 2)), (3, (0, 2)), (1, (0, 2)), (4, (2,))]
)
def test_other_numbers_are_not_mended_by_the_config(
    layers: int, held: tuple[int, ...], tmp_path: Path
) -> None:
    said = found(tmp_path, layers, held)
    assert said is not None
    assert ", ".join(map(str, held)) in said.message
    assert said.help.startswith("save the draft with its layers numbered from 0")
    assert ("num_hidden_layers" in said.help) == (len(held) != layers)
    assert not any("= " in line for line in said.arithmetic)
    blank = next((index for index in range(layers) if index not in held), None)
    if blank is not None:
        assert f"layer {blank} keeps uninitialised memory" in said.why
    assert ("dropped" in said.why) == any(index >= layers for index in held)
