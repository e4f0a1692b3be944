"""Findings, the trace's path and the tuner answer alike who carries decode."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.nccl.paths import DECIDES
from eaglecfg.rules.context import Checkpoints, deployment_context
from eaglecfg.rules.examples import materialize
from eaglecfg.rules.nccl.paths import asleep_because, path_of
from eaglecfg.rules.nccl.searched import may_decide
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.runner import validate
from eaglecfg.schema.load import load_config
from eaglecfg.source.read import read_document
from eaglecfg.tune import inert

FUSING = {"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe"}
OFF = {"disable_custom_all_reduce": True}
NODE = {"gpu": "H200", "count": 8, "topology": "nvswitch", "nccl_version": "2.30.7"}
LANES = {"gpu": "RTX PRO 6000", "count": 8, "topology": "pcie", "nccl_version": "2.30.7"}


def example(
    engine: str = "0.5.23",
    hardware: dict[str, Any] | None = None,
    fusing: bool = False,
    study: dict[str, Any] | None = None,
    **deployment: Any,
) -> dict[str, Any]:
    deployment = {"parallel": {"tp_size": 4}, "hardware": hardware or NODE, **deployment}
    made: dict[str, Any] = {"engine": engine, "deployment": deployment}
    if fusing:
        made["target"] = {"config": FUSING}
    return made | ({"study": study} if study else {})


def checked(folder: Path, **given: Any) -> Report:
    path = materialize(example(**given), folder)
    study = path.parent / "study.yaml"
    documents = [read_document(each) for each in (path, study) if each.exists()]
    found = validate(documents)
    assert not found.crashes
    return found


def said(found: Report, rule: str) -> str:
    """The one finding of a rule, empty where it has none."""
    texts = [f"{one.finding.message}; {one.finding.help}" for one in found.findings if one.rule.id == rule]
    assert len(texts) <= 1
    return "".join(texts)


def unchecked(found: Report, rule: str) -> str:
    return "".join(skipped.reason for skipped in found.not_checked if skipped.rule.id == rule)


GRID = [
    *itertools.product(
        ("0.5.9", "0.5.14", "0.5.17", "0.5.23"), (NODE, LANES), ({}, OFF), (False, True), ({},)
    ),
    *itertools.product(
        ("0.5.17", "0.5.23"),
        (NODE, LANES),
        ({},),
        (False,),
        (
            {"SGLANG_CUSTOM_ALL_REDUCE_V2_MAX_SIZE_KB": "1"},
            {"SGLANG_ENABLE_PCIE_IPC_ALLREDUCE": "1"},
            {"CUDA_VISIBLE_DEVICES": "GPU-1,GPU-2,GPU-3,GPU-4"},
        ),
    ),
]


@pytest.mark.parametrize(("engine", "hardware", "server", "fusing", "env"), GRID)
def test_rules_and_tuner_agree(
    engine: str,
    hardware: dict[str, Any],
    server: dict[str, Any],
    fusing: bool,
    env: dict[str, str],
    tmp_path: Path,
) -> None:
    study = {"space": {"nccl.proto": ["unset", "LL"]}}
    given = example(engine, hardware, fusing, study, server=server, env={**env, "NCCL_PROTO": "Simple"})
    path = materialize(given, tmp_path)
    config = load_config(read_document(path))
    context = deployment_context(config, config.deployments[0], Checkpoints())
    taken = path_of(context)
    assert taken is not None
    assert bool(asleep_because(context)) is (not taken.nccl)
    found = checked(tmp_path, **{**_split(given), "study": study})
    assert bool(said(found, "EC629")) is (not taken.carried and not taken.gathers)
    assert bool(said(found, "EC614")) is taken.carried
    assert bool(said(found, "EC638")) is (not taken.nccl)
    assert bool(unchecked(found, "EC614")) is (not taken.carried and taken.open is not None)


def _split(given: dict[str, Any]) -> dict[str, Any]:
    deployment = given["deployment"]
    return {
        "engine": given["engine"],
        "fusing": "target" in given,
        **{key: deployment[key] for key in ("hardware", "server", "env")},
    }


def test_fusion_keeps_decode_whatever_the_custom_all_reduce_does(tmp_path: Path) -> None:
    node = {"nccl": {"proto": "LL"}, "fusing": True}
    off = checked(tmp_path / "off", server=OFF, **node)
    assert "FlashInfer" in said(off, "EC629")
    assert not said(off, "EC614")
    on = checked(tmp_path / "on", **node)
    advice = said(on, "EC629")
    assert "enforce_disable_flashinfer_allreduce_fusion" in advice
    both = {**OFF, "enforce_disable_flashinfer_allreduce_fusion": True}
    assert not said(checked(tmp_path / "both", server=both, **node), "EC629")
    study = {"space": {"nccl.proto": ["unset", "LL"], "server.disable_custom_all_reduce": [False, True]}}
    searched = checked(tmp_path / "searched", study=study, **node)
    assert "whatever else the space chooses" in said(searched, "EC638")


def test_what_is_advised_hands_decode_to_nccl(tmp_path: Path) -> None:
    advice = said(checked(tmp_path / "a", nccl={"proto": "LL"}), "EC629")
    assert "set disable_custom_all_reduce where" in advice
    assert not said(checked(tmp_path / "b", nccl={"proto": "LL"}, server=OFF), "EC629")


def test_one_rank_is_told_to_leave_it_out(tmp_path: Path) -> None:
    alone = said(checked(tmp_path, nccl={"proto": "LL"}, parallel={"tp_size": 1}), "EC629")
    assert "leave it out" in alone
    assert "disable_custom" not in alone


def test_a_gpu_that_is_not_known_leaves_it_open(tmp_path: Path) -> None:
    hardware = {**NODE, "gpu": "GTX 9999"}
    server = {"enable_flashinfer_allreduce_fusion": True}
    found = checked(tmp_path, engine="0.5.99", hardware=hardware, server=server, nccl={"proto": "LL"})
    assert not said(found, "EC629")
    assert "GTX 9999" in unchecked(found, "EC629")


def test_who_decides_is_the_same_list_everywhere() -> None:
    assert inert.may_decide is may_decide
    assert all(may_decide("server", name) for name in DECIDES)


def test_a_reason_is_said_once(tmp_path: Path) -> None:
    (one,) = [x for x in checked(tmp_path, nccl={"proto": "LL"}).findings if x.rule.id == "EC629"]
    assert not any(each.text in one.finding.message.partition(";")[2][20:] for each in one.finding.evidence)
    assert all(each.note == "" for each in one.finding.evidence)
