from __future__ import annotations

from typing import Any

import pytest

from eaglecfg.checkpoint.config import ModelConfig
from tests.engines.build import draft, resolved, target

STEPS, TOPK, TOKENS = "speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens"


def shape(version: str, architecture: str = "LlamaForCausalLM", **values: Any) -> tuple[Any, Any, Any]:
    found = resolved(version, target(architecture), draft(), **values)
    return found.runs(STEPS), found.runs(TOPK), found.runs(TOKENS)


@pytest.mark.parametrize(
    ("version", "architecture", "chosen"),
    [
        ("0.5.4.post1", "Qwen3ForCausalLM", (5, 4, 8)),
        ("0.5.7", "Qwen3ForCausalLM", (5, 4, 8)),
        ("0.5.8", "Qwen3ForCausalLM", (3, 1, 4)),
        ("0.5.14", "LlamaForCausalLM", (5, 4, 8)),
        ("0.5.23", "GptOssForCausalLM", (3, 1, 4)),
        ("0.5.23", "Qwen3ForCausalLM", (3, 1, 4)),
    ],
)
def test_the_engine_picks_the_shape_that_is_not_given(
    version: str, architecture: str, chosen: tuple[int, int, int]
) -> None:
    assert shape(version, architecture) == chosen


def test_the_shape_is_not_known_without_the_target() -> None:
    found = resolved("0.5.23")
    assert found.get(STEPS).runs is None
    assert "not known" in found.get(STEPS).why


@pytest.mark.parametrize(
    ("given", "name", "origin", "runs"),
    [
        ({STEPS: 2, TOPK: 1, TOKENS: 3}, TOKENS, "asked", 3),
        ({STEPS: 2, TOPK: 1, TOKENS: 8}, TOKENS, "rewritten", 3),
        ({STEPS: 2, TOPK: 1}, TOKENS, "default", 3),
        ({STEPS: 2, TOPK: 4, TOKENS: 8}, TOKENS, "asked", 8),
        ({STEPS: 2, TOPK: 4}, TOKENS, "default", None),
        ({TOPK: 1}, STEPS, "refused", None),
        ({TOKENS: 4}, STEPS, "refused", None),
        ({STEPS: 2}, TOPK, "refused", None),
    ],
)
def test_shapes_are_completed_rewritten_or_refused(
    given: dict[str, Any], name: str, origin: str, runs: int | None
) -> None:
    setting = resolved("0.5.14", target(), draft(), **given).get(name)
    assert (setting.origin, setting.runs) == (origin, runs)


def test_speculation_sets_max_running_requests() -> None:
    assert resolved("0.5.14").get("max_running_requests").runs == 48
    assert resolved("0.5.14", max_running_requests=16).get("max_running_requests").origin == "asked"
    assert resolved("0.5.14", speculative_algorithm=None).runs("max_running_requests") is None


@pytest.mark.parametrize(
    ("version", "name", "origin", "runs"),
    [
        ("0.5.9", "eagle3", "refused", None),
        ("0.5.12", "eagle3", "rewritten", "EAGLE3"),
        ("0.5.14", "NEXTN", "rewritten", "EAGLE"),
        ("0.5.14", "EAGLE4", "refused", None),
        ("0.5.14", "UNO", "refused", None),
        ("0.5.20", "UNO", "asked", "UNO"),
    ],
)
def test_algorithm_names_are_those_of_the_version(
    version: str, name: str, origin: str, runs: str | None
) -> None:
    setting = resolved(version, speculative_algorithm=name).get("speculative_algorithm")
    assert (setting.origin, setting.runs) == (origin, runs)


def test_settings_of_speculation_are_ignored_without_an_algorithm() -> None:
    found = resolved("0.5.14", speculative_algorithm=None, speculative_num_steps=3)
    assert {one.name for one in found.with_origin("ignored")} == {"speculative_draft_model_path", STEPS}


def test_unknown_flags_and_bad_values_are_told_apart() -> None:
    found = resolved(
        "0.5.14", mem_fraction_statik=0.8, attention_backend="fast", page_size="x", trust_remote_code=1
    )
    assert found.get("mem_fraction_statik").origin == "unknown"
    for name in ("attention_backend", "page_size", "trust_remote_code"):
        assert found.get(name).origin == "refused"
    assert "triton" in found.get("attention_backend").why


def test_flags_of_another_version_are_unknown() -> None:
    assert (
        resolved("0.5.14", speculative_draft_sink_size=4).get("speculative_draft_sink_size").origin
        == "unknown"
    )
    assert resolved("0.5.23", cuda_graph_max_bs=8).get("cuda_graph_max_bs").origin == "unknown"


def test_a_flag_that_is_not_given_runs_its_default() -> None:
    found = resolved("0.5.14")
    assert found.runs("schedule_conservativeness") == 1.0
    assert found.get("schedule_conservativeness").origin == "default"


@pytest.mark.parametrize(("version", "runs"), [("0.5.18", False), ("0.5.19", True)])
def test_mixed_chunk_is_switched_off_up_to_0_5_18(version: str, runs: bool) -> None:
    assert resolved(version, enable_mixed_chunk=True).runs("enable_mixed_chunk") is runs


def test_adaptive_steps_settle_the_shape_from_0_5_14_on() -> None:
    assert shape("0.5.14", speculative_adaptive=True) == (3, 1, 4)
    assert shape("0.5.12", speculative_adaptive=True) == (5, 4, 8)
    found = resolved("0.5.23", target(), draft(), speculative_adaptive=True, speculative_num_steps=2)
    assert found.get(STEPS).origin == "refused"
    wide: dict[str, Any] = {"speculative_adaptive": True, STEPS: 3, TOPK: 4, TOKENS: 8}
    found = resolved("0.5.23", target(), draft(), **wide)
    assert found.get("speculative_adaptive").runs is False


@pytest.mark.parametrize(
    ("keys", "flag", "dtype"),
    [
        ({"torch_dtype": "bfloat16"}, None, "bfloat16"),
        ({"torch_dtype": "float16"}, None, "float16"),
        ({"torch_dtype": "float32"}, None, "float16"),
        ({"torch_dtype": "absent"}, None, "float16"),
        ({"torch_dtype": "absent", "model_type": "gemma3_text"}, None, "bfloat16"),
        ({"torch_dtype": "absent", "dtype": "bfloat16"}, None, "bfloat16"),
        ({"torch_dtype": "float16"}, "bfloat16", "bfloat16"),
        ({"torch_dtype": "bfloat16"}, "half", "float16"),
    ],
)
def test_dtype_auto_keeps_what_is_stored_but_float32(
    keys: dict[str, str], flag: str | None, dtype: str
) -> None:
    found = resolved("0.5.14", target(), draft(**keys), dtype=flag)
    assert found.runs("draft.dtype") == dtype


@pytest.mark.parametrize(
    ("own", "asked", "env", "origin", "runs"),
    [
        (8192, None, {}, "default", 8192),
        (2048, None, {}, "refused", None),
        (2048, 2048, {}, "default", 2048),
        (2048, None, {"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "1"}, "rewritten", 8192),
        ("absent", None, {}, "refused", None),
    ],
)
def test_the_draft_runs_with_the_context_length_of_the_target(
    own: Any, asked: int | None, env: dict[str, str], origin: str, runs: int | None
) -> None:
    by = draft(max_position_embeddings=own)
    setting = resolved("0.5.14", target(), by, env, context_length=asked).get("draft.context_length")
    assert (setting.origin, setting.runs) == (origin, runs)


def test_a_context_length_above_the_targets_own_is_refused() -> None:
    assert (
        resolved("0.5.14", target(), draft(), context_length=9000).get("target.context_length").origin
        == "refused"
    )
    assert resolved("0.5.14", target(), draft(), context_length="8k").runs("target.context_length") == 8000


@pytest.mark.parametrize(
    ("rope", "length"),
    [
        ({"rope_type": "yarn", "factor": 4.0}, 32768),
        ({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192}, 8192),
        ({"rope_type": "llama3", "factor": 8.0}, 8192),
        ({"rope_type": "default", "rope_theta": 10000.0}, 8192),
        (None, 8192),
    ],
)
def test_the_rope_factor_stretches_the_derived_length(rope: Any, length: int) -> None:
    found = resolved("0.5.14", target(rope_scaling=rope), draft(max_position_embeddings=65536))
    assert found.runs("target.context_length") == length


@pytest.mark.parametrize(
    ("given", "quantization"),
    [
        ({}, None),
        ({"quantization": "fp8"}, "fp8"),
        ({"quantization": "fp8", "speculative_draft_model_quantization": "unquant"}, None),
        ({"quantization": "fp8", "speculative_draft_model_quantization": "awq"}, "awq"),
    ],
)
def test_the_draft_inherits_an_explicit_quantization(given: dict[str, Any], quantization: str | None) -> None:
    assert resolved("0.5.14", target(), draft(), **given).runs("draft.quantization") == quantization


@pytest.mark.parametrize(
    ("version", "given", "ranks"),
    [
        ("0.5.14", {"tp_size": 8}, 8),
        ("0.5.14", {"tp_size": 8, "dp_size": 4, "enable_dp_attention": True}, 2),
        ("0.5.14", {"tp_size": 8, "dp_size": 4}, 8),
        ("0.5.14", {"tp_size": 8, "dp_size": 3, "enable_dp_attention": True}, None),
        ("0.5.23", {"tp_size": 8, "attn_dp_size": 4}, 2),
    ],
)
def test_the_draft_runs_inside_one_attention_group(
    version: str, given: dict[str, Any], ranks: int | None
) -> None:
    assert resolved(version, target(), draft(), **given).runs("draft.tp_size") == ranks


def test_kernels_with_large_pages_set_the_page_size() -> None:
    assert resolved("0.5.14", attention_backend="flashmla").runs("page_size") == 64
    assert resolved("0.5.14", attention_backend="trtllm_mha", page_size=32).runs("page_size") == 32
    assert (
        resolved("0.5.14", attention_backend="trtllm_mha", page_size=8).get("page_size").origin == "rewritten"
    )
    assert resolved("0.5.14").runs("page_size") == 1


def test_a_backend_that_depends_on_the_gpu_is_not_guessed() -> None:
    setting = resolved("0.5.14").get("attention_backend")
    assert setting.runs is None
    assert "not known" in setting.why


def test_targets_that_carry_their_own_draft_are_drafted_with_themselves() -> None:
    found = resolved(
        "0.5.14",
        target("DeepseekV3ForCausalLM"),
        None,
        speculative_draft_model_path=None,
        model_path="target",
    )
    assert found.runs("speculative_draft_model_path") == "target"


def test_a_resolution_without_configs_still_answers() -> None:
    found = resolved("0.5.14", None, ModelConfig("draft/config.json", {}))
    assert found.get("target.dtype").runs is None
    assert found.runs("draft.dtype") == "float16"


def test_adaptive_steps_without_a_shape_depend_on_who_chooses_it() -> None:
    """Read off the engine's own ServerArgs of 0.5.12 and 0.5.14."""
    asked = {"speculative_adaptive": True}
    before, after = (resolved(version, target(), draft(), **asked) for version in ("0.5.12", "0.5.14"))
    assert before.get("speculative_adaptive").origin == "rewritten"
    assert (before.runs("speculative_adaptive"), before.runs("speculative_eagle_topk")) == (False, 4)
    assert (after.runs("speculative_adaptive"), after.runs("speculative_eagle_topk")) == (True, 1)
    chain = resolved("0.5.12", target("DeepseekV3ForCausalLM"), draft(), **asked)
    assert chain.runs("speculative_adaptive") is True


def test_unquant_is_no_quantisation() -> None:
    settled = resolved(speculative_draft_model_quantization="unquant", quantization="fp8")
    assert settled.runs("speculative_draft_model_quantization") is None
    assert settled.asked("speculative_draft_model_quantization") == "unquant"


@pytest.mark.parametrize(
    ("version", "revision"),
    [("0.5.4.post1", None), ("0.5.5.post3", None), ("0.5.6", "main"), ("0.5.14", "main"), ("0.5.23", "main")],
)
def test_a_draft_without_revision_gets_one_since_0_5_6(version: str, revision: str | None) -> None:
    given = {"speculative_algorithm": "EAGLE3", "speculative_draft_model_path": "draft"}
    found = resolved(version, target(), draft(), **given)
    assert found.runs("speculative_draft_model_revision") == revision
