from __future__ import annotations

from typing import Any

import pytest

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.engines.boundaries import Boundaries, boundaries_of
from tests.engines.build import KIMI, draft, facts, resolved, target

IDS = "eagle_aux_hidden_state_layer_ids"


def at_top(ids: list[int]) -> dict[str, Any]:
    return {IDS: ids}


def read(
    of: ModelConfig | None = None, by: ModelConfig | None = None, version: str = "0.5.23", **values: Any
) -> Boundaries | None:
    of, by = of or target(), by or draft()
    return boundaries_of(facts(version), of, by, resolved(version, of, by, **values))


def test_only_eagle_config_is_read() -> None:
    found = read(by=draft(**at_top([1, 2, 3]), eagle_config={IDS: [3, 9, 14]}))
    assert found is not None
    assert found.ids == (3, 9, 14)
    assert found.captured == (4, 10, 15)


def test_ids_at_the_top_level_are_not_read() -> None:
    found = read(by=draft(**at_top([4, 9, 15])))
    assert found is not None
    assert found.ids is None
    assert found.captured == (2, 10, 17)
    assert "top level" in found.reason


@pytest.mark.parametrize("value", ["[1, 9, 16]", [1, 9, 16], 7, None])
def test_an_eagle_config_that_is_no_object_falls_back_to_the_default(value: Any) -> None:
    found = read(by=draft(eagle_config=value))
    assert found is not None
    assert found.captured == (2, 10, 17)


@pytest.mark.parametrize("ids", [["1", "9"], 9, [1.5, 2, 3], {"a": 1}])
def test_ids_that_the_setter_cannot_add_to_stop_the_server(ids: Any) -> None:
    found = read(by=draft(eagle_config={IDS: ids}))
    assert found is not None
    assert found.outcome == "crash_at_start"


def test_use_aux_hidden_state_false_captures_nothing_from_0_5_8_on() -> None:
    off = draft(eagle_config={IDS: [3, 9, 14], "use_aux_hidden_state": False})
    for version, outcome in (("0.5.7", "captured"), ("0.5.8", "nothing"), ("0.5.23", "nothing")):
        found = read(by=off, version=version, disable_cuda_graph=True)
        assert found is not None
        assert found.outcome == outcome


def test_algorithm_eagle_captures_nothing() -> None:
    found = read(speculative_algorithm="EAGLE")
    assert found is not None
    assert found.outcome == "nothing"
    assert "EAGLE" in found.reason


def test_without_speculation_there_is_nothing_to_say() -> None:
    assert read(speculative_algorithm=None) is None
    assert read(speculative_algorithm="NGRAM") is None


def test_the_depth_is_that_of_the_text_model() -> None:
    raw = {"architectures": [KIMI], "text_config": {"num_hidden_layers": 61, "hidden_size": 7168}}
    nested = ModelConfig("target/config.json", raw, text_key="text_config")
    found = read(of=nested)
    assert found is not None
    assert found.captured == (2, 30, 58)


def test_qwen2_5_vl_reads_its_depth_at_the_top_level_first() -> None:
    raw = {
        "architectures": ["Qwen2_5_VLForConditionalGeneration"],
        "num_hidden_layers": 28,
        "text_config": {"num_hidden_layers": 36},
    }
    nested = ModelConfig("target/config.json", raw, text_key="text_config")
    found = read(of=nested)
    assert found is not None
    assert found.captured == (2, 14, 25)


def test_overrides_reach_target_and_draft() -> None:
    found = read(json_model_override_args='{"num_hidden_layers": 40, "eagle_config": null}')
    assert found is not None
    assert found.captured == (2, 20, 37)


def test_graphs_that_are_switched_off_follow_the_ids() -> None:
    by = draft(eagle_config={IDS: [3, 9, 14]})
    on, off = read(by=by, version="0.5.9"), read(by=by, version="0.5.9", disable_cuda_graph=True)
    assert on is not None
    assert off is not None
    assert on.decode == (2, 10, 17)
    assert off.decode is None
