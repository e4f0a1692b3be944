from __future__ import annotations

import pytest

from eaglecfg.engines.boundaries import Boundaries, effective_boundaries
from tests.engines.build import KIMI, facts


def of(version: str, architecture: str, n: int, ids: list[int] | None, *, graphs: bool = True) -> Boundaries:
    found = effective_boundaries(facts(version), architecture, n, ids, graphs=graphs)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("version", "captured"),
    [
        ("0.5.10.post1", (3, 31, 59)),
        ("0.5.12", (3, 31, 59)),
        ("0.5.12.post1", (3, 31, 59)),
        ("0.5.13", (2, 30, 58)),
        ("0.5.14", (2, 30, 58)),
        ("0.5.23", (2, 30, 58)),
    ],
)
def test_the_same_kimi_ids_mean_other_layers_from_0_5_13_on(version: str, captured: tuple[int, ...]) -> None:
    found = of(version, KIMI, 61, [2, 30, 58])
    assert found.captured == captured
    assert found.offset == captured[0] - 2
    assert found.outcome == "captured"
    assert found.layers == 61


@pytest.mark.parametrize(
    ("architecture", "n", "ids", "captured"),
    [
        ("GptOssForCausalLM", 24, [1, 11, 21], (2, 12, 22)),
        ("GptOssForCausalLM", 36, [1, 17, 33], (2, 18, 34)),
        ("GptOssForCausalLM", 36, [24, 30, 36], (24, 30, 36)),
        ("GptOssForCausalLM", 36, None, (2, 18, 33)),
        ("Qwen3MoeForCausalLM", 94, [1, 46, 90], (2, 47, 91)),
        ("DeepseekV3ForCausalLM", 61, [1, 29, 57], (2, 30, 58)),
        ("DeepseekV3ForCausalLM", 61, [2, 30, 58], (2, 30, 58)),
        ("DeepseekV3ForCausalLM", 61, [0, 30, 58], (0, 30, 58)),
        ("MiniMaxM2ForCausalLM", 62, [1, 30, 58], (2, 31, 59)),
        ("MiniMaxM3SparseForCausalLM", 60, None, (2, 30, 57)),
        ("MiniMaxM3SparseForConditionalGeneration", 60, None, (3, 31, 58)),
        ("MiniMaxM3SparseForCausalLM", 60, [1, 30, 59], (2, 31, 60)),
        ("Gemma3ForCausalLM", 26, [1, 12, 25], (2, 13, 26)),
        ("LlamaForCausalLM", 32, [-1, 15, 28], (0, 16, 29)),
        ("LlamaForCausalLM", 32, [28, 1, 15], (2, 16, 29)),
    ],
)
def test_ids_become_boundaries_by_the_rule_of_the_class(
    architecture: str, n: int, ids: list[int] | None, captured: tuple[int, ...]
) -> None:
    found = of("0.5.23", architecture, n, ids)
    assert (found.captured, found.outcome) == (captured, "captured")


def test_the_first_id_decides_not_the_smallest() -> None:
    found = of("0.5.23", "DeepseekV3ForCausalLM", 61, [30, 1, 57])
    assert found.captured == (1, 30, 57)
    assert found.shifted == (30, 1, 57)


def test_capture_is_ascending_whatever_the_listed_order() -> None:
    found = of("0.5.14", "LlamaForCausalLM", 32, [28, 15, 1])
    assert found.shifted == (29, 16, 2)
    assert found.captured == (2, 16, 29)


@pytest.mark.parametrize(
    ("version", "architecture", "n", "ids", "outcome", "captured"),
    [
        ("0.5.16", "GptOssForCausalLM", 36, [24, 30, 36], "short", (25, 31)),
        ("0.5.23", "LlamaForCausalLM", 32, [1, 15, 31], "short", (2, 16)),
        ("0.5.23", "LlamaForCausalLM", 32, [1, 15, 40], "short", (2, 16)),
        ("0.5.23", "LlamaForCausalLM", 32, [1, 15, 15], "short", (2, 16)),
        ("0.5.23", "LlamaForCausalLM", 32, [-2, 15, 28], "short", (16, 29)),
        ("0.5.23", "LlamaForCausalLM", 5, None, "short", (2,)),
        ("0.5.23", "LlamaForCausalLM", 6, None, "short", (2, 3)),
        ("0.5.23", "LlamaForCausalLM", 7, None, "captured", (2, 3, 4)),
        ("0.5.20", "LlamaForCausalLM", 32, [-1, 15, 28], "crash_at_first_request", (0, 16, 29)),
        ("0.5.21", "LlamaForCausalLM", 32, [-1, 15, 28], "crash_at_first_request", (0, 16, 29)),
        ("0.5.9", "Qwen2ForCausalLM", 32, [-1, 15, 28], "captured", (0, 16, 29)),
        ("0.5.23", "LlamaForCausalLM", 32, [], "crash_at_first_request", ()),
        ("0.5.23", "MiniMaxM3SparseForConditionalGeneration", 60, [], "nothing", ()),
        ("0.5.23", "Qwen3MoeForCausalLM", 24, [1, 11, 23], "crash_at_start", ()),
        ("0.5.23", "Qwen3MoeForCausalLM", 24, [-2, 11, 20], "wrapped", (12, 21, 23)),
        ("0.5.23", "Qwen3VLMoeForConditionalGeneration", 24, [1, 11, 23], "crash_at_start", ()),
        ("0.5.21", "Qwen3VLMoeForConditionalGeneration", 24, [1, 11, 23], "short", (2, 12)),
        ("0.5.23", "Qwen3VLMoeForConditionalGeneration", 24, [-2, 11, 20], "short", (12, 21)),
        ("0.5.12", "Qwen3_5ForConditionalGeneration", 24, [1, 11, 20], "crash_at_first_request", ()),
        ("0.5.22", "Qwen3_5ForConditionalGeneration", 24, [1, 11, 20], "captured", (2, 12, 21)),
        ("0.5.23", "Qwen2MoeForCausalLM", 24, [1, 11, 20], "crash_at_start", ()),
        ("0.5.12", "DeepseekV3ForCausalLM", 61, [-1, 30, 58], "crash_at_first_request", (0, 31, 59)),
        ("0.5.22", "MiniMaxM3SparseForCausalLM", 60, [1, 30, 59], "short", (2, 31)),
    ],
)
def test_what_goes_wrong_is_named(
    version: str, architecture: str, n: int, ids: list[int] | None, outcome: str, captured: tuple[int, ...]
) -> None:
    found = of(version, architecture, n, ids)
    assert (found.outcome, found.captured) == (outcome, captured)
    assert found.reason or outcome == "captured"


def test_graphs_capture_the_default_layers_up_to_0_5_10_post1() -> None:
    found = of("0.5.10.post1", "LlamaForCausalLM", 32, [3, 15, 27])
    assert found.captured == (4, 16, 28)
    assert found.decode == (2, 16, 29)
    assert of("0.5.11", "LlamaForCausalLM", 32, [3, 15, 27]).decode is None
    assert of("0.5.10.post1", "LlamaForCausalLM", 32, [1, 15, 28]).decode is None
    assert of("0.5.10.post1", "LlamaForCausalLM", 32, [3, 15, 27], graphs=False).decode is None


def test_graphs_leave_flags_behind_where_layers_are_marked_by_index() -> None:
    found = of("0.5.9", "Qwen3MoeForCausalLM", 48, [3, 20, 40])
    assert found.captured == (2, 4, 21, 24, 41, 45)
    assert found.outcome == "crash_at_first_request"


def test_gemma3_captures_without_the_residual_from_0_5_17_on() -> None:
    assert of("0.5.16", "Gemma3ForCausalLM", 26, None).residual
    assert not of("0.5.17", "Gemma3ForCausalLM", 26, None).residual


def test_a_class_without_capture_stops_the_server() -> None:
    found = of("0.5.23", "Step3p5ForCausalLM", 45, [4, 20, 40])
    assert found.outcome == "crash_at_start"
    assert "Step3p5ForCausalLM" in found.reason


def test_a_class_that_the_version_does_not_register_gets_no_answer() -> None:
    assert effective_boundaries(facts("0.5.23"), "NoSuchForCausalLM", 32, [1, 2, 3]) is None
    assert effective_boundaries(facts("0.5.9"), "MiniMaxM3SparseForCausalLM", 60, None) is None
