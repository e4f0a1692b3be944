"""A study, its record and its patch take a setting for the same one wherever a file or a space has it."""

from __future__ import annotations

from typing import Any

import pytest

from eaglecfg.engines.command import launch_arguments
from eaglecfg.engines.table import load_facts
from eaglecfg.errors import UsageError
from eaglecfg.schema.load import load_config
from eaglecfg.source.read import parse_document
from eaglecfg.tune.apply import make_patch
from eaglecfg.tune.arm import apply, arm_key, changed_keys
from eaglecfg.tune.inert import find_inert
from eaglecfg.tune.placement import ranks_on, read_flags
from tests.tune.test_space import deployment, space

TP = ("tp_size", "tp-size", "tensor_parallel_size", "tensor-parallel-size")
FACTS = load_facts("sglang", "0.5.23")


def option(model: Any, name: str) -> list[str]:
    words = launch_arguments(model, FACTS)
    return [words[at + 1] if at + 1 < len(words) else "" for at, word in enumerate(words) if word == name]


@pytest.mark.parametrize("name", TP)
def test_one_arm_by_whatever_name(name: str) -> None:
    block, server = deployment(parallel={"tp_size": 2}), deployment(server={name: 2})
    assert arm_key(server) == arm_key(block)
    assert changed_keys(block, server) == ()
    assert changed_keys(block, deployment(server={name: 4})) == ("parallel.tp_size",)


@pytest.mark.parametrize("key", ["parallel.tp_size", *(f"server.{name}" for name in TP)])
@pytest.mark.parametrize("name", ["", *TP])
def test_a_choice_replaces_what_the_file_has_elsewhere(name: str, key: str) -> None:
    base = deployment(server={name: 2}) if name else deployment(parallel={"tp_size": 2})
    assert option(apply(base, {key: 4}), "--tp-size") == ["4"]
    assert option(apply(base, {key: "unset"}), "--tp-size") == []
    found = space({key: [2, 4]}, base)
    assert [arm.label for arm in found.arms()] == ["tp_size 2", "tp_size 4"]
    assert [option(arm.deployment, "--tp-size") for arm in found.arms()] == [["2"], ["4"]]
    for arm in found.arms():
        assert found.locate(arm) is not None


@pytest.mark.parametrize("key", ["speculative.num_steps", "server.speculative_num_steps"])
@pytest.mark.parametrize("place", ["speculative", "server"])
def test_a_choice_of_steps_replaces_those_of_the_file(place: str, key: str) -> None:
    shape = {"num_steps": 2, "eagle_topk": 1, "num_draft_tokens": 3}
    flags = {f"speculative_{name}": value for name, value in shape.items()}
    base = deployment(speculative=shape) if place == "speculative" else deployment(server=flags)
    model = apply(base, {key: 5})
    assert option(model, "--speculative-num-steps") == ["5"]
    assert option(model, "--speculative-num-draft-tokens") == ["6"]


def test_a_space_with_one_setting_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="the same key as"):
        space({"parallel.tp_size": [1, 2], "server.tensor_parallel_size": [1, 2]})


@pytest.mark.parametrize("name", ["tp_size", "tensor-parallel-size", "tp", "tensor_par"])
def test_the_winner_is_written_where_the_file_has_the_setting(name: str) -> None:
    text = f"""\
version: 1
engine: {{name: sglang, version: 0.5.14}}
deployments:
  chat:
    target: {{checkpoint: t}}
    server:
      {name}: 2   # two of eight
"""
    config = load_config(parse_document(text, "eaglecfg.yaml", "."))
    wanted = apply(deployment(draft=None, parallel={"tp_size": 4}), {})
    patch = make_patch(config, config.deployments[0], wanted)
    assert patch.text == text.replace(f"{name}: 2 ", f"{name}: 4 ")


@pytest.mark.parametrize("name", TP)
def test_ranks_under_server_keep_nccls_keys_in_the_search(name: str) -> None:
    keys = {"nccl.proto": ["unset", "LL"]}
    assert find_inert(space(keys, deployment()), lambda _: "").left_out
    assert not find_inert(space(keys, deployment(server={name: 2})), lambda _: "").left_out
    assert not find_inert(space({**keys, f"server.{name}": [1, 2]}), lambda _: "").left_out


@pytest.mark.parametrize(
    ("server", "count"),
    [
        ({"tp": 2}, 2),
        ({"tensor-parallel-size": 2, "pipe": 2}, 4),
        ({"tp_size": 2, "dp": 2}, 4),
        ({"tp_size": 4, "dp_size": 2, "enable-dp-attention": True}, 4),
        ({"tp_size": 4, "nnode": 2}, 2),
    ],
)
def test_gpus_are_leased_for_ranks_under_server(server: dict[str, Any], count: int) -> None:
    words = launch_arguments(deployment(server=server), FACTS)
    assert len(ranks_on(read_flags(words, FACTS))) == count
