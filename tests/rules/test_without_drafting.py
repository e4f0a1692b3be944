"""Deployments that look like speculation and draft nothing, and targets whose cache no draft can share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eaglecfg.engines.table import known_versions
from eaglecfg.rules.outcome import Report
from tests.rules.pairs import check

VERSIONS = known_versions("sglang")
CAPTURE = {"enable_return_aux_hidden_states": True}


def report(folder: Path, engine: str, server: dict[str, Any], **deployment: Any) -> Report:
    target = deployment.pop("target_config", {})
    changes = {"target": {"config": target}} if target else {}
    return check(folder, engine=engine, deployment={"server": server, **deployment}, **changes)


def ids(found: Report) -> set[str]:
    return {one.rule.id for one in found.findings}


def test_an_algorithm_may_name_what_is_captured(tmp_path: Path) -> None:
    found = report(tmp_path, "0.5.23", CAPTURE, draft=None)
    assert ids(found) == set()
    assert found.crashes == ()


def test_the_flag_switched_off_changes_nothing(tmp_path: Path) -> None:
    server = {"enable_return_aux_hidden_states": False}
    assert "EC503" in ids(report(tmp_path, "0.5.23", server, draft=None))


def test_an_older_version_has_no_such_flag(tmp_path: Path) -> None:
    assert {"EC301", "EC503"} <= ids(report(tmp_path, "0.5.22", CAPTURE, draft=None))


def test_a_draft_beside_it_is_refused_as_before(tmp_path: Path) -> None:
    assert "EC330" in ids(report(tmp_path, "0.5.23", CAPTURE))


@pytest.mark.parametrize("algorithm", ["EAGLE", "STANDALONE"])
def test_another_algorithm_names_no_capture(tmp_path: Path, algorithm: str) -> None:
    found = report(tmp_path, "0.5.23", CAPTURE, draft=None, speculative={"algorithm": algorithm})
    assert "EC350" in ids(found)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_server_that_embeds_never_asks_its_draft(tmp_path: Path, version: str) -> None:
    assert "EC347" in ids(report(tmp_path, version, {"is_embedding": True}))


@pytest.mark.parametrize("change", [{"speculative": "off"}, {"draft": None, "speculative": None}])
def test_embeddings_alone_are_fine(tmp_path: Path, change: dict[str, Any]) -> None:
    assert "EC347" not in ids(report(tmp_path, "0.5.14", {"is_embedding": True}, **change))


UNIFIED = {"enable_unified_memory": True}


@pytest.mark.parametrize("version", ["0.5.22", "0.5.23"])
def test_a_plain_target_shares_no_pages_with_a_draft(tmp_path: Path, version: str) -> None:
    (found,) = [one for one in report(tmp_path, version, UNIFIED).findings if one.rule.id == "EC330"]
    assert "LlamaForCausalLM" in found.finding.message
    assert "enable_unified_memory" in found.finding.help


@pytest.mark.parametrize("name", ["GptOssForCausalLM", "Qwen3NextForCausalLM", "SomethingNewForCausalLM"])
def test_a_hybrid_target_or_one_that_is_not_known_is_left_alone(tmp_path: Path, name: str) -> None:
    found = report(tmp_path, "0.5.23", UNIFIED, target_config={"architectures": [name]})
    assert not [one for one in found.findings if "enable_unified_memory" in one.finding.message]


def test_without_a_draft_the_memory_may_be_unified(tmp_path: Path) -> None:
    assert "EC330" not in ids(report(tmp_path, "0.5.23", UNIFIED, speculative="off"))


@pytest.mark.parametrize(("text", "told"), [("true", True), ("0", False), ("on", False)])
def test_a_switch_in_a_refusal_is_read_as_the_engine_reads_it(tmp_path: Path, text: str, told: bool) -> None:
    server = {"lora_paths": ["sql=adapters/sql"], "max_lora_rank": 16}
    env = {"SGLANG_ENABLE_OVERLAP_PLAN_STREAM": text}
    assert ("EC330" in ids(report(tmp_path, "0.5.23", server, env=env))) is told
