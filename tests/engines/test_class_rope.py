from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.engines.class_rope import ClassRope, reads_rope_parameters, rope_of_class
from eaglecfg.engines.facts import EngineFacts
from eaglecfg.engines.table import load_facts
from eaglecfg.rules.model import Severity
from eaglecfg.schema_files import read_schema
from tests.rules.pairs import check, serious

TABLE: dict[str, Any] = read_schema("engines", "sglang", "config_classes.json")
ROPES: dict[str, dict[str, Any]] = TABLE["rope"]["classes"]
PARTIAL = {
    kind: row["partial_rotary_factor"] for kind, row in ROPES.items() if "partial_rotary_factor" in row
}
SCALED = [kind for kind, row in ROPES.items() if "rope_scaling" in row]
THETAS = {
    kind: row["rope_theta"]
    for kind, row in ROPES.items()
    if "rope_theta" in row and "rope_scaling" not in row and kind != "gemma3_text"
}


def engine(version: str = "0.5.23") -> EngineFacts:
    facts = load_facts("sglang", version)
    assert facts is not None
    return facts


def rope(kind: str | None, version: str = "0.5.23", **keys: Any) -> ClassRope | None:
    named = {} if kind is None else {"model_type": kind}
    return rope_of_class(engine(version), ModelConfig("draft/config.json", {**named, **keys}))


def test_every_row_belongs_to_a_class_and_names_its_source() -> None:
    assert ROPES.keys() <= TABLE["classes"].keys()
    pattern = r"(models|srt/configs)/[\w/]+\.py:\d+$"
    assert [kind for kind, row in ROPES.items() if not re.match(pattern, row["source"])] == []


@pytest.mark.parametrize(
    ("kind", "version", "theta", "share", "scaled"),
    [
        (None, "0.5.23", 10000, 1, None),
        ("llama", "0.5.9", 10000, 1, None),
        ("glm4_moe", "0.5.9", 10000, 0.5, None),
        ("glm4_moe", "0.5.23", 10000, 0.5, None),
        ("stablelm", "0.5.14", 10000, 0.25, None),
        ("mixtral", "0.5.9", 1000000, 1, None),
        ("cohere", "0.5.9", 10000, 1, None),
        ("cohere", "0.5.10", 500000, 1, None),
        ("gpt_oss", "0.5.9", 150000, 1, "yarn"),
        ("gpt_oss", "0.5.23", 150000, 1, "yarn"),
        ("apertus", "0.5.17", 12000000, 1, "llama3"),
        ("ministral3", "0.5.17", 1000000, 1, "yarn"),
    ],
)
def test_what_a_class_assumes(
    kind: str | None, version: str, theta: int, share: float, scaled: str | None
) -> None:
    own = rope(kind, version)
    assert own is not None
    assert (own.theta, own.share, own.scaling and own.scaling["rope_type"]) == (theta, share, scaled)


@pytest.mark.parametrize("kind", [kind for kind, row in ROPES.items() if row.get("absent_in_4")])
def test_a_class_that_transformers_4_lacks_is_not_known_there(kind: str) -> None:
    assert rope(kind, "0.5.9") is None
    assert rope(kind, "0.5.10") is not None


def test_a_class_of_ones_own_and_a_transformers_that_was_not_read_are_not_known() -> None:
    assert rope("a_class_of_ones_own") is None
    assert rope("glm4_moe", "0.5.6.post1") is None
    assert rope("llama", "0.5.6.post1") is not None


@pytest.mark.parametrize("kind", SCALED)
def test_a_rope_that_the_file_gives_stands_before_that_of_the_class(kind: str) -> None:
    given = {"rope_type": "default", "rope_theta": 777}
    for own in (rope(kind, rope_scaling=given), rope(kind, rope_parameters=given)):
        assert own is not None
        assert own.scaling is None
    null = rope(kind, rope_scaling=None)
    assert null is not None
    assert null.scaling is not None


def test_a_null_scaling_and_the_new_layout_under_transformers_4() -> None:
    for kind in ("gpt_oss", "apertus"):
        null, nested = (
            rope(kind, "0.5.9", rope_scaling=None),
            rope(kind, "0.5.9", rope_parameters={"rope_type": "default"}),
        )
        assert null is not None
        assert nested is not None
        assert null.scaling is None
        assert nested.scaling is not None
        assert "rope_theta" not in nested.scaling


def test_a_class_of_sglangs_own_drops_rope_parameters() -> None:
    config = ModelConfig("draft/config.json", {"model_type": "qwen3_next"})
    plain = ModelConfig("draft/config.json", {"model_type": "glm4_moe"})
    assert not reads_rope_parameters(engine(), config)
    assert reads_rope_parameters(engine(), plain)
    assert not reads_rope_parameters(engine("0.5.9"), plain)


@pytest.mark.parametrize("kind", PARTIAL)
def test_a_share_left_to_the_class_never_passes_unseen(kind: str, tmp_path: Path) -> None:
    found = serious(check(tmp_path / "absent", draft={"config": {"model_type": kind}}))
    assert f"{PARTIAL[kind]:g} of each head" in found["EC272"].message
    for share in (1.0, PARTIAL[kind]):
        config = {"model_type": kind, "partial_rotary_factor": share}
        assert "EC272" not in serious(check(tmp_path / f"top{share}", draft={"config": config}))


@pytest.mark.parametrize("kind", [*PARTIAL, "llama"])
def test_a_share_in_the_new_layout_is_judged_by_what_the_class_assumes(kind: str, tmp_path: Path) -> None:
    own = PARTIAL.get(kind, 1)
    for share in (0.3, 0.25, 0.5, 1.0):
        layout = {"rope_type": "default", "rope_theta": 500000.0, "partial_rotary_factor": share}
        config = {"model_type": kind, "rope_parameters": layout}
        found = serious(check(tmp_path / str(share), draft={"config": config}))
        assert ("EC258" in found, "EC272" in found) == (share != own, False)


@pytest.mark.parametrize("kind", SCALED)
def test_scaling_left_to_the_class_never_passes_unseen(kind: str, tmp_path: Path) -> None:
    finding = serious(check(tmp_path, draft={"config": {"model_type": kind}}))["EC272"]
    replaced = "in place of 500000" in finding.message
    assert "gives no rope_scaling" in finding.message
    assert replaced == (kind in ("apertus", "ministral3"))
    assert '"rope_theta": 500000}' in (finding.help or "")


@pytest.mark.parametrize(("kind", "theta"), THETAS.items())
def test_an_absent_theta_is_the_one_of_the_class(kind: str, theta: int, tmp_path: Path) -> None:
    report = check(tmp_path, draft={"config": {"model_type": kind, "rope_theta": None}})
    said = [each.finding.message for each in report.findings if each.rule.id == "EC265"]
    assert [f"{theta} is assumed" in message for message in said] == [True]


def test_an_absent_theta_of_a_class_that_was_not_read_is_not_guessed(tmp_path: Path) -> None:
    report = check(tmp_path, draft={"config": {"model_type": "a_class_of_ones_own", "rope_theta": None}})
    said = [each.finding.message for each in report.findings if each.rule.id == "EC265"]
    assert ["is not known" in message and "10000" not in message for message in said] == [True]
    assert any("does not give partial_rotary_factor" in skipped.reason for skipped in report.not_checked)


def test_a_rope_that_the_target_of_the_same_class_leaves_out_too_is_no_warning(tmp_path: Path) -> None:
    for kind in ("glm4_moe", "gpt_oss"):
        both = {"config": {"model_type": kind}}
        report = check(tmp_path / kind, target=both, draft=both)
        assert [each.severity for each in report.findings if each.rule.id == "EC272"] == [Severity.INFO]
    share = {"config": {"model_type": "glm4_moe", "partial_rotary_factor": 0.5}}
    report = check(tmp_path / "given", target=share, draft={"config": {"model_type": "glm4_moe"}})
    assert "EC272" in serious(report)


def test_one_rope_for_each_layer_type_is_no_rope_for_the_draft(tmp_path: Path) -> None:
    for version, crashes in (("0.5.9", False), ("0.5.10", True), ("0.5.23", True)):
        draft = {"config": {"model_type": "gemma3_text", "head_dim": 64}}
        report = check(tmp_path / version, engine=version, draft=draft)
        assert ("EC267" in serious(report)) is crashes


@pytest.mark.parametrize("kind", [*TABLE["attention_bias"], "glm4_moe", "llama"])
def test_a_bias_left_to_the_class_never_passes_unseen(kind: str, tmp_path: Path) -> None:
    biased = kind in TABLE["attention_bias"]
    left = {"config": {"model_type": kind, "attention_bias": None}}
    old = "0.5.8.post1"
    found = serious(check(tmp_path / "left", engine=old, draft=left))
    assert ("EC223" in found) is biased
    if biased:
        assert "leaves attention_bias true (by " in found["EC223"].message
    off = {"config": {"model_type": kind, "attention_bias": False}}
    assert "EC223" not in serious(check(tmp_path / "off", engine=old, draft=off))
    held = {**left, "tensors": {"midlayer.self_attn.o_proj.bias": ["BF16", [256]]}}
    for version in (old, "0.5.23"):
        found = serious(check(tmp_path / version, engine=version, draft=held))
        assert ("EC223" in found, "EC227" in found) == (False, not biased)


@pytest.mark.parametrize(
    ("kind", "version", "unread"),
    [("llama", "0.5.9", True), ("llama", "0.5.10", False), ("qwen3_next", "0.5.23", True)],
)
def test_scaling_in_a_layout_that_is_not_read_is_told(
    kind: str, version: str, unread: bool, tmp_path: Path
) -> None:
    scaling = {"rope_type": "linear", "factor": 2.0}
    base = {"model_type": kind, "partial_rotary_factor": 1.0}
    draft = {"config": {**base, "rope_parameters": {**scaling, "rope_theta": 500000.0}}}
    found = serious(check(tmp_path / "nested", engine=version, draft=draft))
    assert ("EC258" in found and "scales no positions" in found["EC258"].message) is unread
    both = {"config": {**draft["config"], "rope_scaling": {**scaling, "rope_theta": 500000.0}}}
    assert "EC258" not in serious(check(tmp_path / "both", engine=version, draft=both))


@pytest.mark.parametrize("version", ["0.5.9", "0.5.10", "0.5.23"])
def test_a_theta_beside_scaling_is_lost_under_sglangs_own_class(version: str, tmp_path: Path) -> None:
    for kind in ("llama", "qwen3_next"):
        scaling = {"rope_type": "linear", "factor": 2.0}
        config = {"model_type": kind, "partial_rotary_factor": 1.0, "rope_scaling": scaling}
        found = serious(check(tmp_path / kind, engine=version, draft={"config": config}))
        lost = kind == "qwen3_next" and version != "0.5.9"
        assert ("EC258" in found and "beside a rope_scaling" in found["EC258"].message) is lost
        within = {**config, "rope_scaling": {**scaling, "rope_theta": 500000.0}}
        found = serious(check(tmp_path / f"{kind}-within", engine=version, draft={"config": within}))
        assert "EC258" not in found
