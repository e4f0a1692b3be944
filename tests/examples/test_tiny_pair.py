"""The trained pair in the repository: its files, and what wrong wiring costs on it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tiny_scripts import TINY

from eaglecfg.reference.pair import draft_tensors, target_tensors
from eaglecfg.reference.wiring import Wiring, boundaries_by_rule, listed_ids, wrong_wirings
from eaglecfg.schema.training import read_training

RIGHT = Wiring((2, 4, 6))


def read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((TINY / name).read_text(encoding="utf-8"))
    return found


def test_the_configs_say_what_old_and_new_readers_look_for() -> None:
    for name in ("target/config.json", "draft/config.json"):
        config = read(name)
        assert config["head_dim"] == 64
        assert config["rope_theta"] == config["rope_parameters"]["rope_theta"]
        assert config["torch_dtype"] == config["dtype"] == "bfloat16"
        assert config["vocab_size"] % 64 == 0
    assert read("draft/config.json")["draft_vocab_size"] % 64 == 0
    assert max(listed_ids(read("draft/config.json")) or ()) + 1 <= 8 - 2


def test_the_pair_is_small_and_every_tensor_has_its_shape() -> None:
    from train import SHAPE

    files = [path for part in ("target", "draft") for path in (TINY / part).iterdir()]
    assert sum(path.stat().st_size for path in files) <= 12_000_000
    target = load_file(TINY / "target" / "model.safetensors")
    assert {name: tuple(t.shape) for name, t in target.items()} == target_tensors(SHAPE)
    draft = load_file(TINY / "draft" / "model.safetensors")
    maps = {"d2t": (SHAPE.draft_vocab,), "t2d": (SHAPE.vocab,)}
    assert {name: tuple(t.shape) for name, t in draft.items()} == draft_tensors(SHAPE) | maps
    ids = draft["d2t"] + torch.arange(SHAPE.draft_vocab)
    assert torch.equal(ids, draft["t2d"].nonzero().flatten())


def test_the_training_record_fits_the_files() -> None:
    record, problem = read_training(read("draft/eaglecfg-training.json"))
    assert record is not None, problem
    weights = (TINY / "target" / "model.safetensors").read_bytes()
    assert record.target_sha256 == hashlib.sha256(weights).hexdigest()
    assert (
        record.boundaries == boundaries_by_rule(listed_ids(read("draft/config.json")), 8) == RIGHT.boundaries
    )
    assert record.ttt_steps is not None
    assert record.ttt_steps >= 3


def test_the_target_beats_the_trigram_model_by_far() -> None:
    held_out = read("results/perplexity.json")
    assert held_out["target"] <= held_out["trigram"] / 2


def test_prompts_are_many_and_of_many_lengths() -> None:
    from measure import read_prompts

    prompts = [ids for _, ids in read_prompts(TINY / "prompts.jsonl", 10_000)]
    assert len(prompts) >= 256
    assert min(map(len, prompts)) >= 32
    assert max(map(len, prompts)) <= 128
    assert len({len(ids) for ids in prompts}) > 50
    assert max(map(max, prompts)) < read("target/config.json")["vocab_size"]


@pytest.fixture(scope="module")
def lengths() -> dict[str, float]:
    """Accept length of every wiring over a few prompts, in this process."""
    from measure import Job, accept_length, read_prompts, run_reference

    prompts = read_prompts(TINY / "prompts.jsonl", 12)
    wirings = {"right": RIGHT, **wrong_wirings(RIGHT)}
    return {
        name: accept_length(run_reference(Job(TINY, asdict(w), 3, "float32", 24), prompts, processes=1))
        for name, w in wirings.items()
    }


def test_the_right_wiring_reaches_its_accept_length(lengths: dict[str, float]) -> None:
    assert lengths["right"] >= 1.8


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("ids shifted by one", 0.98),
        ("embedding first", 0.80),
        ("fc column blocks permuted", 0.75),
        ("d2t dropped", 0.10),
        ("fc skipped", 0.20),
    ],
)
def test_wrong_wiring_costs_accepted_drafts(lengths: dict[str, float], name: str, share: float) -> None:
    assert lengths[name] - 1 <= share * (lengths["right"] - 1)


def test_both_engines_agree_in_the_recordings() -> None:
    from compare_engines import bootstrap
    from measure import read_records

    results = TINY / "results"
    first = read_records(results / "sglang-0.5.14-bfloat16.jsonl")
    second = read_records(results / "reference-bfloat16.jsonl")
    assert [r.id for r in first] == [r.id for r in second]
    assert len(first) >= 200
    assert {r.completion_tokens for r in first + second} == {128}
    low, high = bootstrap(first, second, seed=0)
    assert low <= 0 <= high
    assert high - low <= 0.05


def test_the_readme_shows_every_wiring() -> None:
    text = (TINY / "README.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    for name in ("right", *wrong_wirings(RIGHT)):
        assert any(row.startswith(f"| {name} |") for row in rows), name


def test_scripts_are_where_the_readme_says() -> None:
    text = (TINY / "README.md").read_text(encoding="utf-8")
    for script in ("train.py", "accept_table.py", "compare_engines.py"):
        assert f"examples/tiny/{script}" in text
        assert Path(TINY / script).is_file()
