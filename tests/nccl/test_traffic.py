"""How many all-reduces of how many bytes one verify takes, and what NCCL's model makes of them."""

from __future__ import annotations

from typing import Any

import pytest

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.engines.arguments import Argument
from eaglecfg.engines.resolve import Resolution, resolve
from eaglecfg.engines.table import load_facts
from eaglecfg.nccl.decode_path import decode_path
from eaglecfg.nccl.gpus import gpu_of
from eaglecfg.nccl.latency import chosen, estimates, latency_table, off_by
from eaglecfg.nccl.paths import FUSED, Machine
from eaglecfg.nccl.traffic import batches, phases, prefill
from tests.nccl.test_engine_writes import launch

KIMI = {"architectures": ["KimiK25ForConditionalGeneration"], "hidden_size": 7168, "num_hidden_layers": 61}
LLAMA = {"architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "num_hidden_layers": 32}
DRAFT = {"architectures": ["LlamaForCausalLMEagle3"], "hidden_size": 7168, "num_hidden_layers": 1}
SHAPE = {
    "speculative_algorithm": "EAGLE3",
    "speculative_draft_model_path": "draft",
    "speculative_num_steps": 3,
    "speculative_eagle_topk": 1,
    "speculative_num_draft_tokens": 4,
    "tp_size": 8,
}
ALL = {(each, protocol) for each in ("Ring", "Tree") for protocol in ("LL", "LL128", "Simple")}


def config(raw: dict[str, Any], **more: Any) -> ModelConfig:
    return ModelConfig("config.json", {"dtype": "bfloat16", **raw, **more})


def settled(
    version: str, flags: dict[str, Any], target: ModelConfig | None, draft: ModelConfig | None
) -> Resolution:
    facts = load_facts("sglang", version)
    assert facts is not None
    given = {name: Argument(name, value, ()) for name, value in flags.items()}
    return resolve(facts, given, target, draft, env={})


def shown(version: str = "0.5.14", raw: dict[str, Any] = KIMI, **flags: Any) -> dict[str, tuple[Any, ...]]:
    target, draft = config(raw), config(DRAFT)
    resolution = settled(version, {**SHAPE, **flags}, target, draft)
    found = phases(version, resolution, target, draft)
    return {each.name: (each.rows, each.forwards, each.calls, each.size(1)) for each in found}


def test_a_chain_of_three_steps_sends_what_the_engines_passes_send() -> None:
    assert shown() == {
        "draft step": (1, 2, 3, 14336),
        "verify": (4, 1, 123, 57344),
        "draft extend": (4, 1, 3, 57344),
    }
    assert shown(raw=LLAMA)["verify"] == (4, 1, 65, 32768)


def test_a_tree_drafts_topk_rows_and_one_step_drafts_none() -> None:
    tree = shown(speculative_eagle_topk=4, speculative_num_draft_tokens=8)
    assert tree["draft step"][:2] == (4, 2)
    assert tree["verify"][0] == tree["draft extend"][0] == 8
    assert shown("0.5.9", speculative_eagle_topk=4, speculative_num_draft_tokens=8)["draft extend"][0] == 4
    assert "draft step" not in shown(speculative_num_steps=1, speculative_num_draft_tokens=2)


def test_without_speculation_there_is_one_token_for_each_request() -> None:
    target = config(LLAMA)
    resolution = settled("0.5.14", {"tp_size": 2}, target, None)
    (only,) = phases("0.5.14", resolution, target, None)
    assert (only.name, only.rows, only.size(8)) == ("decode", 1, 65536)
    assert batches(resolution) == (1, 8)


def test_dtype_decides_the_bytes_and_quantised_weights_do_not() -> None:
    assert shown(dtype="float16")["verify"][3] == 57344
    assert shown(dtype="float32")["verify"][3] == 114688
    assert shown(quantization="fp8")["verify"][3] == 57344


@pytest.mark.parametrize(
    ("raw", "flags", "why"),
    [
        ({**LLAMA, "architectures": ["OtherForCausalLM"]}, {}, "not known for OtherForCausalLM"),
        (KIMI, {"moe_a2a_backend": "deepep"}, "not known with --moe-a2a-backend deepep"),
        (LLAMA, {"pp_size": 2}, "not known with pipeline stages"),
        ({key: LLAMA[key] for key in ("architectures", "hidden_size")}, {}, "has no num_hidden_layers"),
    ],
)
def test_calls_that_no_code_was_read_for_are_not_guessed(
    raw: dict[str, Any], flags: dict[str, Any], why: str
) -> None:
    target = config(raw)
    found = phases("0.5.14", settled("0.5.14", SHAPE | flags, target, None), target, None)
    (verify,) = (each for each in found if each.name == "verify")
    assert verify.calls is None
    assert why in verify.why


def test_sizes_that_no_file_tells_are_left_out() -> None:
    for raw in ({}, {"hidden_size": "wide"}, {"hidden_size": True}, {"hidden_size": -1}):
        target = config(raw)
        assert not phases("0.5.14", settled("0.5.14", SHAPE, target, None), target, None)
    assert not phases("0.5.14", settled("0.5.14", SHAPE, None, None), None, None)


@pytest.mark.parametrize(
    ("given", "sizes"), [(None, (1, 8, 48)), (32, (1, 8, 32)), (8, (1, 8)), (4, (1, 4)), (1, (1,))]
)
def test_batches_end_with_the_most_requests_at_once(given: int | None, sizes: tuple[int, ...]) -> None:
    flags = SHAPE if given is None else {**SHAPE, "max_running_requests": given}
    assert batches(settled("0.5.14", flags, config(KIMI), None)) == sizes


def test_one_chunk_of_prefill_is_shown_where_its_length_is_given() -> None:
    target = config(LLAMA)
    assert prefill(settled("0.5.14", SHAPE, target, None), target) is None
    chunk = prefill(settled("0.5.14", {**SHAPE, "chunked_prefill_size": 8192}, target, None), target)
    assert chunk is not None
    assert chunk.size(1) == 64 << 20
    off = settled("0.5.14", {**SHAPE, "chunked_prefill_size": -1}, target, None)
    assert prefill(off, target) is None


def test_the_draft_wakes_nccl_where_only_the_targets_layers_are_fused() -> None:
    def path(version: str) -> Any:
        target, draft = config(KIMI), config(DRAFT)
        now = launch(version, disable_custom_all_reduce=True)
        resolution = settled(version, SHAPE, target, draft)
        return decode_path(
            now, Machine("nvswitch", gpu_of("H200")), resolution, target, draft, automatic=True
        )

    assert [each.carrier for each in path("0.5.14").takers] == ["fused", "nccl"]
    assert path("0.5.14").nccl
    assert [each.carrier for each in path("0.5.23").takers] == ["fused"]
    assert not path("0.5.23").nccl


def test_ranks_and_nodes_may_stand_among_the_servers_flags() -> None:
    target = config(LLAMA)
    machine = Machine("nvswitch", gpu_of("H200"))
    path = decode_path(
        launch(tp=1),
        machine,
        settled("0.5.23", {**SHAPE, "nnodes": 2}, target, None),
        target,
        None,
        automatic=False,
    )
    assert path.ranks == 8
    assert path.small.why == "the ranks are on several nodes"


def test_outside_of_graphs_no_kernel_is_named() -> None:
    target, machine = config(LLAMA), Machine("nvswitch", gpu_of("H200"))
    resolution = settled("0.5.23", {**SHAPE, "chunked_prefill_size": 512}, target, None)
    path = decode_path(launch(), machine, resolution, target, None, automatic=False)
    assert path.contrast is not None
    assert (path.contrast.layers.carrier, path.contrast.layers.how) == ("custom", "")
    assert path.steps[0].layers.how
    eager = decode_path(launch(disable_cuda_graph=True), machine, resolution, target, None, automatic=False)
    assert {step.layers.how for step in eager.steps} == {""}


def test_plain_llama_layers_are_not_fused_even_where_that_is_asked_for() -> None:
    def first(version: str, raw: dict[str, Any]) -> str:
        target = config(raw)
        now = launch(version, enable_flashinfer_allreduce_fusion=True)
        machine, resolution = Machine("nvswitch", gpu_of("H200")), settled(version, SHAPE, target, None)
        path = decode_path(now, machine, resolution, target, None, automatic=False)
        taken = path.steps[0].layers
        return f"{taken.carrier} {taken.how}"

    assert first("0.5.14", LLAMA) == "custom one-shot push"
    assert first("0.5.22", LLAMA) == "fused alone"
    assert first("0.5.23", LLAMA) == f"fused {FUSED}"
    assert first("0.5.14", {**LLAMA, "architectures": ["Qwen3ForCausalLM"]}) == f"fused {FUSED}"


def test_the_model_is_off_by_what_the_output_says() -> None:
    """Two H200, 56 KiB: it picks the right one, and no time is off by more than a factor of two."""
    found = {protocol: (model, measured) for protocol, model, measured in off_by()}
    assert set(found) == {"LL", "LL128", "Simple"}
    for model, measured in found.values():
        assert 0.5 < model / measured < 2
    # The words of docs/decode-path.md.
    off = {name: round((model / measured - 1) * 100) for name, (model, measured) in found.items()}
    assert off == {"LL": 15, "LL128": 41, "Simple": -26}
    table = latency_table()["measured"]
    may = chosen(table["ranks"], table["bytes"], Machine("nvswitch", gpu_of("H200")), ALL)
    assert [each.name for each in may] == ["Ring LL"]
    # NCCL's default was measured next to LL, far from the others: it had chosen LL.
    assert abs(table["default"] - table["us"]["LL"]) < 1.0


@pytest.mark.parametrize(
    ("topology", "ranks", "expected"),
    [
        ("nvswitch", 2, {"Ring LL": 7.8, "Ring LL128": 17.8, "Ring Simple": 15.2, "Tree LL128": 16.5}),
        ("nvswitch", 8, {"Ring LL": 15.0, "Ring LL128": 40.6, "Ring Simple": 56.0, "NVLS Simple": 25.0}),
        ("pcie", 8, {"Ring LL": 20.6, "Ring Simple": 88.2, "Tree Simple": 64.4}),
        ("nvlink-pair", 4, {"Ring LL": 12.6}),
    ],
)
def test_latencies_of_nothing_are_the_constants_of_the_library(
    topology: str, ranks: int, expected: dict[str, float]
) -> None:
    found = {each.name: each for each in estimates(ranks, 0, Machine(topology, gpu_of("H200")))}
    for name, microseconds in expected.items():
        assert found[name].low == found[name].high == pytest.approx(microseconds)


def test_small_messages_go_by_ll_and_large_ones_do_not() -> None:
    for topology in ("nvswitch", "pcie"):
        machine = Machine(topology, gpu_of("RTX PRO 6000" if topology == "pcie" else "H200"))
        small = chosen(8, 8192, machine, ALL - {("Ring", "LL128"), ("Tree", "LL128")})
        assert [each.name for each in small] == ["Ring LL"]
        large = chosen(8, 64 << 20, machine, ALL)
        assert all(each.protocol != "LL" for each in large)


def test_times_grow_with_size_and_ranks_and_nothing_is_said_of_an_unknown_host() -> None:
    machine = Machine("pcie", gpu_of("L40S"))
    for less, more in (((2, 1024), (2, 1 << 20)), ((2, 1024), (8, 1024))):
        for one, other in zip(estimates(*less, machine), estimates(*more, machine), strict=True):
            assert one.low < other.low
            assert one.low <= one.high
    assert estimates(8, 1024, Machine(None, None)) == ()
    assert estimates(1, 1024, machine) == ()
    assert chosen(8, 1024, machine, ()) == ()
