"""json_model_override_args reach the draft: what they set there counts as if its file said so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.engines.overrides import LABEL, laid_over
from eaglecfg.engines.table import known_versions
from eaglecfg.rules.model import Finding, Severity, Today
from eaglecfg.rules.outcome import Report
from tests.rules.pairs import check, serious

FLAG = "json_model_override_args"
VERSIONS = [known_versions("sglang")[0], "0.5.14", known_versions("sglang")[-1]]


def override(folder: Path, given: dict[str, Any], **example: Any) -> Report:
    """The small pair, launched with ``given`` laid over its configs."""
    deployment = {**example.pop("deployment", {}), "server": {FLAG: json.dumps(given)}}
    return check(folder, deployment=deployment, **example)


def errors(report: Report) -> set[str]:
    assert not report.crashes, report.crashes[0].trace
    return {each.rule.id for each in report.findings if each.severity is Severity.ERROR}


@pytest.mark.parametrize("engine", VERSIONS)
@pytest.mark.parametrize(
    "given",
    [
        {"draft_vocab_size": 128},
        {"fc_norm": True},
        {"use_aux_norm": True},
        {"norm_before_fc": True},
        {"bias": True},
        {"quantization_config": {"quant_method": "fp8"}},
        {"num_aux_hidden_states": 2},
        {"target_hidden_size": 128},
        {"hidden_act": "gelu"},
        {"hidden_size": 128},
        {"eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 5, 8], "use_aux_hidden_state": True}},
        {"eagle_config": {"use_aux_hidden_state": False}},
        {"tie_word_embeddings": True},
        {"architectures": ["LlamaForCausalLM"]},
        {"max_position_embeddings": "long"},
    ],
    ids=lambda given: next(iter(given)),
)
def test_what_breaks_the_draft_in_its_file_breaks_it_in_an_override(
    tmp_path: Path, engine: str, given: dict[str, Any]
) -> None:
    unread = {"fc_norm", "use_aux_norm", "norm_before_fc"}  # a file that has them tells of a training
    plain = errors(check(tmp_path / "plain", engine=engine))
    written = errors(check(tmp_path / "file", engine=engine, draft={"config": given})) - plain
    laid = errors(override(tmp_path / "laid", given, engine=engine)) - plain
    if unread.isdisjoint(given) or _reads(engine, next(iter(given))):
        assert bool(laid) >= bool(written)  # the target may be broken too
    else:
        assert laid == set()


def _reads(engine: str, key: str) -> bool:
    from eaglecfg.engines.table import load_facts

    facts = load_facts("sglang", engine)
    assert facts is not None
    return key in facts.drafts["LlamaForCausalLMEagle3"].honours


@pytest.mark.parametrize("engine", VERSIONS)
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"bos_token_id": 1},
        {"hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 4},
        {"torch_dtype": "bfloat16"},
        {"draft_vocab_size": 256},
        {"bias": False},
        {"norm_output": False, "fc_norm": False, "use_aux_norm": False},
        {"rope_theta": 500000.0},
        {"norm_before_residual": True},
        {"unheard_of": {"of": [1, None]}},
        {"eagle_config": {"eagle_aux_hidden_state_layer_ids": [2, 5, 8], "use_aux_hidden_state": True}},
    ],
    ids=str,
)
def test_an_override_that_changes_nothing_is_no_matter(
    tmp_path: Path, engine: str, given: dict[str, Any]
) -> None:
    assert set(serious(override(tmp_path, given, engine=engine))) <= set(
        serious(check(tmp_path / "plain", engine=engine))
    )


@pytest.mark.parametrize(
    "absent",
    [
        {"tie_word_embeddings": False},
        {"num_key_value_heads": 4},
        {"hidden_act": "silu"},
        {"head_dim": 64},
    ],
    ids=str,
)
def test_an_override_may_say_what_the_class_does_without_the_key(
    tmp_path: Path, absent: dict[str, Any]
) -> None:
    left_out = dict.fromkeys(absent)
    tensors: dict[str, Any] = {}
    if "num_key_value_heads" in absent:
        tensors = {f"midlayer.self_attn.{part}_proj.weight": ["BF16", [256, 512]] for part in "kv"}
    found = serious(override(tmp_path, absent, draft={"config": left_out, "tensors": tensors}))
    assert "EC262" not in found


def test_an_override_mends_a_draft_whose_file_lacks_a_key(tmp_path: Path) -> None:
    tensors = {"fc_norm.0.weight": ["BF16", [256]]} | {
        f"fc_norm.{index}.weight": ["BF16", [256]] for index in (1, 2)
    }
    lacking = errors(check(tmp_path / "plain", draft={"tensors": tensors}))
    mended = errors(override(tmp_path / "laid", {"fc_norm": True}, draft={"tensors": tensors}))
    assert lacking == {"EC256"}
    assert mended == set()


def test_a_switched_off_norm_of_the_output_is_found(tmp_path: Path) -> None:
    draft = {"config": {"norm_output": True}}
    assert set(serious(check(tmp_path / "plain", draft=draft))) == set()
    found = serious(override(tmp_path / "laid", {"norm_output": False}, draft=draft))
    assert set(found) == {"EC262"}


def test_the_finding_shows_where_the_override_stands(tmp_path: Path) -> None:
    finding: Finding = serious(override(tmp_path, {"fc_norm": True}))["EC256"]
    assert finding.related == (
        (("deployments", "chat", "server", FLAG), "sets fc_norm for target and draft alike"),
    )
    assert any(each.file.endswith(LABEL) and each.line is None for each in finding.evidence)


def test_the_message_names_the_override_once(tmp_path: Path) -> None:
    for given, rule in (({"draft_vocab_size": 128}, "EC246"), ({"fc_norm": True}, "EC256")):
        found = serious(override(tmp_path / rule, given))[rule]
        assert found.message.count(FLAG) == 1


def test_a_fault_beside_the_override_is_not_put_on_it(tmp_path: Path) -> None:
    report = override(tmp_path, {"bos_token_id": 1}, draft={"config": {"fc_norm": True}})
    assert serious(report)["EC256"].related == ()


def config(**raw: Any) -> ModelConfig:
    return ModelConfig("draft/config.json", raw, source=json.dumps(raw))


def test_laying_over_twice_is_laying_over_once() -> None:
    once = laid_over(config(hidden_size=1), {"hidden_size": 2}, ())
    assert once.file == f"draft/config.json{LABEL}"
    assert laid_over(once, {"hidden_size": 2}, ()) is once


def test_what_changes_nothing_leaves_the_config_with_its_lines() -> None:
    plain = config(hidden_size=1, torch_dtype="bfloat16")
    assert laid_over(plain, {"hidden_size": 1, "dtype": "bfloat16"}, ()) is plain


def test_an_older_spelling_wins_over_the_newer_one_of_the_file() -> None:
    seen = laid_over(config(dtype="bfloat16"), {"torch_dtype": "float16"}, ())
    assert seen.value("dtype") == "float16"


@pytest.mark.parametrize(("merges", "kept"), [((), None), (("parts",), 4)])
def test_a_text_model_is_replaced_or_laid_over_by_version(merges: tuple[str, ...], kept: int | None) -> None:
    raw = {"text_config": {"hidden_size": 4, "vocab_size": 8}}
    whole = ModelConfig("target/config.json", raw, text_key="text_config")
    seen = laid_over(whole, {"text_config": {"vocab_size": 9}}, merges)
    assert seen.value("vocab_size") == 9
    assert seen.value("hidden_size") == kept


@pytest.mark.parametrize(("merges", "theta"), [((), None), (("rope",), 1e4)])
def test_rope_parameters_are_replaced_or_laid_over_by_version(
    merges: tuple[str, ...], theta: float | None
) -> None:
    plain = config(rope_parameters={"rope_theta": 1e4, "rope_type": "default"})
    seen = laid_over(plain, {"rope_scaling": {"rope_type": "yarn"}}, merges)
    assert seen.value("rope").get("rope_theta") == theta
    assert seen.value("rope")["rope_type"] == "yarn"


def soft(report: Report) -> bool:
    """Whether EC262 has anything to say."""
    assert not report.crashes, report.crashes[0].trace
    return any(each.rule.id == "EC262" for each in report.findings)


YARN = {"factor": 4.0, "original_max_position_embeddings": 8192}
DEFAULT = {"rope_type": "default"}


@pytest.mark.parametrize("engine", VERSIONS)
@pytest.mark.parametrize(
    ("given", "draft"),
    [
        ({"rope_theta": 10000.0}, {"rope_theta": None}),
        ({"rms_norm_eps": 1e-6}, {"rms_norm_eps": None}),
        ({"rope_parameters": {**DEFAULT, "rope_theta": 500000.0}}, {}),
        ({"rope_scaling": {**DEFAULT, "rope_theta": 500000.0}}, {}),
        (
            {"rope_scaling": {"rope_type": "yarn", **YARN, "rope_theta": 500000.0}},
            {"rope_scaling": {"type": "yarn", **YARN}},
        ),
        ({"rope_interleaved": True}, {}),
        ({"rope_local_base_freq": 10000.0}, {}),
        ({"rope_is_neox_style": True}, {}),
    ],
    ids=str,
)
def test_an_override_that_turns_positions_as_they_turn_anyway_is_no_matter(
    tmp_path: Path, engine: str, given: dict[str, Any], draft: dict[str, Any]
) -> None:
    assert not soft(override(tmp_path, given, engine=engine, draft={"config": draft}))


@pytest.mark.parametrize(
    ("engine", "given", "told"),
    [
        ("0.5.9", {"rope_theta": 1000000.0}, True),
        ("0.5.14", {"rope_theta": 1000000.0}, False),
        ("0.5.23", {"rope_theta": 1000000.0}, False),
        ("0.5.9", {"rope_parameters": {**DEFAULT, "rope_theta": 1000000.0}}, False),
        ("0.5.14", {"rope_parameters": {**DEFAULT, "rope_theta": 1000000.0}}, True),
        ("0.5.23", {"rope_parameters": {**DEFAULT, "rope_theta": 1000000.0}}, True),
        ("0.5.9", {"rope_scaling": DEFAULT}, False),
        ("0.5.23", {"rope_scaling": DEFAULT}, False),
        ("0.5.9", {"rope_scaling": {"rope_type": "yarn", **YARN}}, True),
        ("0.5.23", {"rope_scaling": {"rope_type": "yarn", **YARN}}, True),
        ("0.5.23", {"rope_scaling": None, "rope_theta": 1000000.0}, True),
        ("0.5.23", {"rope_is_neox_style": False}, True),
        ("0.5.23", {"rms_norm_eps": 0.001}, True),
    ],
    ids=str,
)
def test_an_override_that_this_version_reads_is_told(
    tmp_path: Path, engine: str, given: dict[str, Any], told: bool
) -> None:
    assert soft(override(tmp_path, given, engine=engine)) == told


@pytest.mark.parametrize("key", ["rope_scaling", "rope_parameters"])
@pytest.mark.parametrize(
    ("engine", "more", "lost"),
    [
        ("0.5.9", {}, False),
        ("0.5.10", {}, True),
        ("0.5.14", {}, True),
        ("0.5.22", {}, True),
        ("0.5.23", {}, False),
        ("0.5.14", {"rope_theta": 500000.0}, False),
    ],
    ids=str,
)
def test_an_override_of_the_rope_must_not_lose_the_theta(
    tmp_path: Path, engine: str, key: str, more: dict[str, Any], lost: bool
) -> None:
    report = override(tmp_path, {key: {"rope_type": "yarn", **YARN, **more}}, engine=engine)
    assert ("EC262" in errors(report)) == lost
    if lost:
        found = serious(report)["EC262"]
        assert "without a rope_theta" in found.message
        assert '"rope_theta": 500000' in found.help


@pytest.mark.parametrize(("theta", "lost"), [(10000.0, False), (500000.0, True), (None, False)])
def test_a_theta_that_the_class_assumes_anyway_is_not_lost(
    tmp_path: Path, theta: float | None, lost: bool
) -> None:
    report = override(
        tmp_path,
        {"rope_scaling": {"rope_type": "yarn", **YARN}},
        engine="0.5.14",
        draft={"config": {"rope_theta": theta}},
        target={"config": {"rope_theta": theta}},
    )
    assert ("EC262" in errors(report)) == lost


@pytest.mark.parametrize("engine", VERSIONS)
@pytest.mark.parametrize("key", ["text_config", "llm_config", "language_config", "thinker_config"])
def test_a_part_that_the_draft_has_not_stops_the_start(tmp_path: Path, engine: str, key: str) -> None:
    found = override(tmp_path, {key: {"max_position_embeddings": 8192}}, engine=engine)
    assert "EC262" in errors(found)
    finding = serious(found)["EC262"]
    assert finding.today is Today.CRASH_AT_START
    assert f"sets {key} in the draft too" in finding.message


@pytest.mark.parametrize(
    "given",
    [
        {"text_config": {"num_attention_heads": 4}},
        {"vision_config": {"depth": 3}},
        {"audio_config": None},
    ],
    ids=str,
)
def test_a_part_that_may_be_whole_or_is_not_looked_at_is_not_claimed_to_stop_it(
    tmp_path: Path, given: dict[str, Any]
) -> None:
    assert not soft(override(tmp_path, given))


@pytest.mark.parametrize("value", [None, "a", [1]], ids=str)
def test_an_odd_part_or_rope_does_not_break_the_check(tmp_path: Path, value: Any) -> None:
    for key in (
        "text_config",
        "thinker_config",
        "rope_scaling",
        "rope_parameters",
        "rope_theta",
        "rms_norm_eps",
    ):
        report = override(tmp_path / key, {key: value, "rope_is_neox_style": value}, engine="0.5.14")
        assert not report.crashes, report.crashes[0].trace
