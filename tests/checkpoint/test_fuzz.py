"""Whatever bytes a safetensors file holds, reading ends in facts; what we call proper, the library opens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors import SafetensorError, safe_open

from eaglecfg.checkpoint.facts import CheckpointFacts
from eaglecfg.checkpoint.load import read_checkpoint
from tests.checkpoint.files import entry, packed

GOOD = packed(
    {
        "__metadata__": {"format": "pt"},
        "model.embed_tokens.weight": entry("BF16", [4, 2], 0, 16),
        "lm_head.weight": entry("F32", [2, 2], 16, 32),
        "d2t": entry("I64", [2], 32, 48),
        "t2d": entry("BOOL", [4], 48, 52),
    },
    52,
)
QUIET = settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
scalars = st.none() | st.booleans() | st.integers(-2, 2**66) | st.text(max_size=3) | st.floats()
dtypes = st.sampled_from(["F32", "BF16", "I64", "U8", "BOOL", "F4", "F2", ""]) | scalars
shapes = st.lists(st.integers(-1, 5), max_size=3) | scalars
offsets = st.lists(st.integers(-1, 40), min_size=2, max_size=2) | st.lists(scalars, max_size=3)
entries = st.fixed_dictionaries(
    {"dtype": dtypes, "shape": shapes, "data_offsets": offsets}, optional={"extra": scalars}
)
headers = st.dictionaries(
    st.sampled_from(["a", "b", "d2t", "t2d", "", "__metadata__"]), entries | scalars, max_size=4
)


REFUSED = {"malformed", "truncated", "duplicate-tensor", "not-supported", "lfs-pointer", "unknown-dtype"}


def facts_of(content: bytes, folder: Path) -> CheckpointFacts:
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(content)
    return read_checkpoint(folder, ".", role="draft")


def agrees_with_the_library(facts: CheckpointFacts, folder: Path) -> None:
    """No problem of ours means that the library opens the file and sees the same."""
    if {problem.kind for problem in facts.problems} & REFUSED:
        return
    try:
        with safe_open(folder / "model.safetensors", "pt") as stream:
            shapes = {name: tuple(stream.get_slice(name).get_shape()) for name in stream.keys()}  # noqa: SIM118
    except SafetensorError as error:
        pytest.fail(f"the library refuses what we took: {error}")
    assert shapes == {name: tensor.shape for name, tensor in facts.tensors.items()}


@QUIET
@given(
    flips=st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), max_size=6),
    cut=st.integers(0, 60),
)
def test_flipped_and_cut_bytes(flips: list[tuple[int, int]], cut: int, tmp_path: Path) -> None:
    content = bytearray(GOOD)
    for at, value in flips:
        content[at] = value
    agrees_with_the_library(facts_of(bytes(content[: len(content) - cut]), tmp_path), tmp_path)


@QUIET
@given(header=headers, data=st.integers(0, 45))
def test_headers_of_strange_values(header: dict[str, Any], data: int, tmp_path: Path) -> None:
    agrees_with_the_library(facts_of(packed(json.dumps(header), data), tmp_path), tmp_path)


@QUIET
@given(content=st.binary(max_size=120))
def test_random_bytes(content: bytes, tmp_path: Path) -> None:
    facts = facts_of(content, tmp_path)
    agrees_with_the_library(facts, tmp_path)
    assert all(problem.message.isprintable() for problem in facts.problems)


@QUIET
@given(
    content=st.binary(max_size=120) | headers.map(lambda value: json.dumps({"weight_map": value}).encode())
)
def test_random_indexes_and_configs(content: bytes, tmp_path: Path) -> None:
    for name in ("config.json", "model.safetensors.index.json", "generation_config.json"):
        (tmp_path / name).write_bytes(content)
    facts = read_checkpoint(tmp_path, ".", role="draft")
    assert facts.problems
    assert all(problem.message.isprintable() for problem in facts.problems)
