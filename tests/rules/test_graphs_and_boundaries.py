"""Boundaries are captured where prefill and decode both capture them: older CUDA graphs follow no ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eaglecfg.engines.table import known_versions, load_facts
from eaglecfg.report.styled import plain
from eaglecfg.report.trace import render
from eaglecfg.review.init import Wanted, write
from eaglecfg.rules.context import Checkpoints, deployment_context
from eaglecfg.rules.examples import materialize
from eaglecfg.rules.model import Finding, Severity
from eaglecfg.schema.load import load_config
from eaglecfg.source.read import read_document
from tests.rules.pairs import check
from tests.rules.test_capture import kimi

IDS = "eagle_aux_hidden_state_layer_ids"
RESETTING = tuple(
    version
    for version in known_versions("sglang")
    if (facts := load_facts("sglang", version)) is not None and facts.values["graph_resets_layers"]
)


def errors(folder: Path, example: dict[str, Any]) -> dict[str, Finding]:
    report = check(folder, title="", **example)
    assert not report.crashes
    return {one.rule.id: one.finding for one in report.findings if one.severity is Severity.ERROR}


def pair(version: str, ids: list[int], trained: list[int], **server: Any) -> dict[str, Any]:
    return {
        "engine": version,
        "deployment": {"capture": {"trained_boundaries": trained}, "server": server},
        "draft": {"config": {"eagle_config": {IDS: ids}}},
    }


def test_no_version_is_recommended_whose_graphs_capture_other_layers(tmp_path: Path) -> None:
    words = errors(tmp_path / "new", kimi("0.5.14"))["EC201"].help
    assert "run sglang 0.5.11 to 0.5.12.post1" in words
    for version in ("0.5.10", "0.5.10.post1"):
        assert set(errors(tmp_path / version, kimi(version))) == {"EC901"}
    for version in ("0.5.11", "0.5.12.post1"):
        assert errors(tmp_path / version, kimi(version)) == {}


@pytest.mark.parametrize("version", [RESETTING[0], "0.5.9", RESETTING[-1]])
def test_wrong_ids_do_not_hide_that_the_graphs_follow_none(version: str, tmp_path: Path) -> None:
    found = errors(tmp_path / "wrong", pair(version, [3, 6, 8], [3, 6, 8]))
    assert set(found) == {"EC201", "EC901"}
    assert "write [2, 5, 7]" in found["EC201"].help
    assert "in sglang 0.5.11 and later" in found["EC201"].help
    assert "server.disable_cuda_graph" in found["EC201"].help
    assert set(errors(tmp_path / "half", pair(version, [2, 5, 7], [3, 6, 8]))) == {"EC901"}
    whole = pair(version, [2, 5, 7], [3, 6, 8], disable_cuda_graph=True)
    assert errors(tmp_path / "whole", whole) == {}


def test_without_graphs_nothing_is_said_of_graphs(tmp_path: Path) -> None:
    found = errors(tmp_path, pair("0.5.9", [3, 6, 8], [3, 6, 8], disable_cuda_graph=True))
    assert set(found) == {"EC201"}
    assert "disable_cuda_graph" not in found["EC201"].help
    assert "0.5.4.post1 and later" in found["EC201"].help


def test_the_ids_of_the_default_are_the_whole_repair_where_that_was_trained(tmp_path: Path) -> None:
    found = errors(tmp_path / "wrong", pair("0.5.9", [2, 6, 9], [2, 6, 9]))
    assert set(found) == {"EC201"}
    assert "write [1, 5, 8]" in found["EC201"].help
    assert "graphs" not in found["EC201"].help
    assert errors(tmp_path / "right", pair("0.5.9", [1, 5, 8], [2, 6, 9])) == {}


def traced(folder: Path, version: str) -> str:
    config = load_config(
        read_document(materialize({"title": "", **pair(version, [2, 5, 7], [3, 6, 8])}, folder))
    )
    return plain(render(deployment_context(config, config.deployments[0], Checkpoints()), 400))


def test_the_traced_path_names_what_the_graphs_capture(tmp_path: Path) -> None:
    text = traced(tmp_path / "old", "0.5.9")
    assert "boundaries 2, 6, 9 instead, in decode and verify" in text
    assert "[3, 6, 8] in prefill, [2, 6, 9] in CUDA graphs" in text
    assert "In short: decode and verify capture other layers than prefill" in text
    assert "CUDA graphs" not in traced(tmp_path / "new", "0.5.11")


def test_a_first_file_says_what_the_graphs_capture(tmp_path: Path) -> None:
    materialize({"title": "", **pair("0.5.9", [2, 5, 7], [3, 6, 8])}, tmp_path)
    for version, known in (("0.5.9", True), ("0.5.11", False)):
        wanted = Wanted(target="target", draft="draft", version=version)
        text = write(wanted, "eaglecfg.yaml", tmp_path, Checkpoints())
        assert "captures boundaries [3, 6, 8]" in text
        assert ("graphs capture [2, 6, 9] whatever the ids are" in text) is known
