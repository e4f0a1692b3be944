"""Algorithms that load a draft of their own, and what they take for it where none is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eaglecfg.engines.table import known_versions, load_facts
from eaglecfg.rules.model import Need, Severity, Today
from eaglecfg.rules.registry import every_rule
from tests.rules.pairs import check, serious

VERSIONS = known_versions("sglang")
ENDS = [VERSIONS[0], "0.5.14", VERSIONS[-1]]
MODEL: dict[str, Any] = {
    "config": {"architectures": ["LlamaForCausalLM"], "draft_vocab_size": None, "eagle_config": None},
    "tensors": dict.fromkeys(("fc.weight", "d2t", "t2d", "midlayer.hidden_norm.weight")),
}


HEAD = {"mtp.fc.weight": ["BF16", [256, 512]]}
"""A tensor of an MTP head beside a target's own."""


def without(algorithm: str, **more: Any) -> dict[str, Any]:
    return {"draft": None, "capture": None, "speculative": {"algorithm": algorithm}, **more}


@pytest.mark.parametrize("engine", ENDS)
@pytest.mark.parametrize("algorithm", ["EAGLE3", "EAGLE", "NEXTN", "STANDALONE"])
def test_an_algorithm_that_loads_a_draft_needs_one(tmp_path: Path, engine: str, algorithm: str) -> None:
    found = serious(check(tmp_path, engine=engine, deployment=without(algorithm)))
    assert f"algorithm {algorithm} needs a draft" in found["EC503"].message


@pytest.mark.parametrize("engine", VERSIONS)
@pytest.mark.parametrize("algorithm", ["EAGLE", "NEXTN"])
def test_an_mtp_head_in_the_target_is_a_draft(tmp_path: Path, engine: str, algorithm: str) -> None:
    facts = load_facts("sglang", engine)
    assert facts is not None
    heads = {*facts.values["mtp_in_target"], *facts.values["draft_from_target"]}
    for name in sorted(heads):
        target = {"config": {"architectures": [name.replace("*", "ForCausalLM")]}, "tensors": HEAD}
        folder = tmp_path / name.rstrip("*")
        report = check(folder, engine=engine, target=target, deployment=without(algorithm))
        assert "EC503" not in serious(report)
        if name == "DeepseekV3ForCausalLM":
            other = check(folder / "s", engine=engine, target=target, deployment=without("STANDALONE"))
            assert "EC503" in serious(other)


def test_the_classes_with_a_head_are_those_of_the_version(tmp_path: Path) -> None:
    target = {"config": {"architectures": ["Qwen3_5ForConditionalGeneration"]}, "tensors": HEAD}
    assert "EC503" in serious(
        check(tmp_path / "a", engine="0.5.8", target=target, deployment=without("EAGLE"))
    )
    report = check(tmp_path / "b", engine="0.5.9", target=target, deployment=without("EAGLE"))
    assert "EC503" not in serious(report)


@pytest.mark.parametrize("name", ["Qwen3MoeForCausalLM", "DeepseekV3ForCausalLM", "Qwen3NextForCausalLM"])
@pytest.mark.parametrize("engine", ["0.5.14", VERSIONS[-1]])
@pytest.mark.parametrize("algorithm", ["EAGLE", "NEXTN"])
def test_a_class_with_a_head_whose_files_have_none_needs_a_draft(
    tmp_path: Path, name: str, engine: str, algorithm: str
) -> None:
    target: dict[str, Any] = {"config": {"architectures": [name]}}
    found = serious(check(tmp_path / "a", engine=engine, target=target, deployment=without(algorithm)))
    assert found["EC503"].today is Today.SILENT
    for index, tensor in enumerate(("model.layers.12.eh_proj.weight", "model.mtp_layers.0.fc.weight")):
        with_head = {**target, "tensors": {tensor: ["BF16", [256, 512]]}}
        report = check(tmp_path / str(index), engine=engine, target=with_head, deployment=without(algorithm))
        assert "EC503" not in serious(report)


def test_dflash_without_a_draft_is_refused(tmp_path: Path) -> None:
    assert serious(check(tmp_path, deployment=without("DFLASH")))["EC503"].today is Today.REFUSED


@pytest.mark.parametrize("algorithm", ["NGRAM", "UNO", "DSPARK", "NOSUCH"])
def test_others_are_no_matter(tmp_path: Path, algorithm: str) -> None:
    assert "EC503" not in serious(check(tmp_path, deployment=without(algorithm)))


def test_a_target_that_cannot_be_read_leaves_it_open(tmp_path: Path) -> None:
    report = check(tmp_path, deployment=without("EAGLE", target={"checkpoint": "nowhere"}))
    assert "EC503" not in serious(report)
    assert any(each.rule.id == "EC503" for each in report.not_checked)


@pytest.mark.parametrize("algorithm", ["EAGLE", "NEXTN", "STANDALONE"])
def test_an_eagle3_draft_under_another_algorithm_is_found(tmp_path: Path, algorithm: str) -> None:
    found = serious(check(tmp_path, deployment={"capture": None, "speculative": {"algorithm": algorithm}}))
    assert "EC501" in found


@pytest.mark.parametrize("engine", VERSIONS)
def test_standalone_does_not_ask_for_what_eagle3_needs(tmp_path: Path, engine: str) -> None:
    deployment = {"capture": None, "speculative": {"algorithm": "STANDALONE"}}
    report = check(tmp_path, engine=engine, draft=MODEL, deployment=deployment)
    capture = {rule.id for rule in every_rule() if Need.CAPTURE in rule.needs}
    assert len(capture) > 10
    assert not capture & {each.rule.id for each in report.not_checked}
    assert not [each for each in report.findings if each.severity is Severity.ERROR]


@pytest.mark.parametrize("engine", VERSIONS)
@pytest.mark.parametrize(("size", "told"), [(1024, False), (1152, None), (4096, True), (16, None)])
def test_standalone_needs_one_vocabulary(tmp_path: Path, engine: str, size: int, told: bool | None) -> None:
    """A few rows more are padding for versions that do not compare, and a refusal for those that do."""
    facts = load_facts("sglang", engine)
    assert facts is not None
    compares = facts.values["standalone_checks_vocabulary"]
    draft = {**MODEL, "config": {**MODEL["config"], "vocab_size": size}}
    deployment = {"capture": None, "speculative": {"algorithm": "STANDALONE"}}
    found = serious(check(tmp_path, engine=engine, draft=draft, deployment=deployment))
    wanted = compares if told is None else told
    assert ("EC250" in found) is wanted
    if wanted:
        assert found["EC250"].today is (Today.REFUSED if compares else Today.SILENT)
        assert set(found) & {"EC240", "EC248"} == set()


def test_another_algorithm_may_have_another_vocabulary(tmp_path: Path) -> None:
    draft = {"config": {"vocab_size": 4096}}
    assert "EC250" not in serious(check(tmp_path, draft=draft))
