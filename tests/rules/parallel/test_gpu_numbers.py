"""The GPUs that ranks are placed on, where flags keep them off the first ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.rules.pairs import check

TWO, FOUR = {"tp_size": 2}, {"tp_size": 4}


def found(
    folder: Path, count: int, parallel: dict[str, Any], server: dict[str, Any], **more: Any
) -> set[str]:
    hardware = {"gpu": "H200", "count": count, "topology": "nvswitch"}
    deployment = {"parallel": parallel, "server": server, "hardware": hardware, **more}
    report = check(folder, engine="0.5.14", deployment=deployment)
    return {one.rule.id for one in report.findings} & {"EC409", "EC641"}


@pytest.mark.parametrize(
    ("count", "parallel", "server"),
    [
        (2, TWO, {"gpu_id_step": 2}),
        (2, TWO, {"base_gpu_id": 1}),
        (2, TWO, {"base_gpu_id": "1"}),
        (4, TWO, {"base_gpu_id": 1, "gpu_id_step": 3}),
        (4, {"tp_size": 2, "dp_size": 2}, {"gpu_id_step": 2}),
        (4, {"tp_size": 4, "nnodes": 2}, {"base_gpu_id": 3}),
        (1, {"tp_size": 1}, {"base_gpu_id": 1}),
    ],
)
def test_ranks_beyond_the_last_gpu(
    tmp_path: Path, count: int, parallel: dict[str, Any], server: dict[str, Any]
) -> None:
    assert found(tmp_path, count, parallel, server) == {"EC409"}


@pytest.mark.parametrize(
    ("count", "parallel", "server"),
    [
        (2, TWO, {}),
        (3, TWO, {"gpu_id_step": 2}),
        (4, TWO, {"base_gpu_id": 2}),
        (8, FOUR, {"gpu_id_step": 2}),
        (1, {"tp_size": 1}, {"gpu_id_step": 4}),
        (4, {"tp_size": 4, "nnodes": 2}, {"base_gpu_id": 2}),
        (4, {"tp_size": 2, "pp_size": 2}, {}),
        (5, {"tp_size": 2, "pp_size": 2}, {"gpu_id_step": 2}),
        (2, TWO, {"gpu_id_step": 2, "use_ray": True}),
    ],
)
def test_ranks_that_have_their_gpus(
    tmp_path: Path, count: int, parallel: dict[str, Any], server: dict[str, Any]
) -> None:
    assert found(tmp_path, count, parallel, server) == set()


@pytest.mark.parametrize(("shown", "told"), [("0,1", {"EC641"}), ("0,1,2", set())])
def test_the_visible_ones_are_counted_likewise(tmp_path: Path, shown: str, told: set[str]) -> None:
    env = {"CUDA_VISIBLE_DEVICES": shown}
    assert found(tmp_path, 8, TWO, {"gpu_id_step": 2}, env=env) == told


def test_more_ranks_than_gpus_are_told_as_before(tmp_path: Path) -> None:
    assert found(tmp_path, 2, FOUR, {"base_gpu_id": 1}) == {"EC409"}
