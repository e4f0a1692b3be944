"""The draft's weights beside a cache that is filled first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.rules.examples import materialize
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.parallel.memory import bytes_of
from eaglecfg.rules.runner import validate
from eaglecfg.source.read import read_document


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("96GiB", 96 << 30),
        ("96 GiB", 96 << 30),
        ("80GB", 80 * 10**9),
        ("81920 MiB", 80 << 30),
        ("1.5GiB", 3 << 29),
        ("141", 141),
        ("plenty", None),
        ("96 gibbons", None),
    ],
)
def test_sizes_are_read_as_they_are_written(text: str, size: int | None) -> None:
    assert bytes_of(text) == size


def report_of(folder: Path, example: Mapping[str, Any]) -> Report:
    path = materialize(example, folder)
    return validate([read_document(path, shown=path.name)], select=["EC417"])


def tight(version: str, ranks: int = 1) -> Mapping[str, Any]:
    hardware = {"gpu": "A2", "count": ranks, "gpu_memory": "32MiB"}
    return {
        "engine": version,
        "deployment": {
            "server": {"mem_fraction_static": 0.98},
            "hardware": hardware,
            "parallel": {"tp_size": ranks},
        },
    }


def test_the_sum_leaves_out_the_embedding_and_is_shared_by_the_ranks(tmp_path: Path) -> None:
    (alone,) = report_of(tmp_path / "1", tight("0.5.12")).findings
    (shared,) = report_of(tmp_path / "2", tight("0.5.12", 2)).findings
    assert shared.finding.values["draft_bytes"] == alone.finding.values["draft_bytes"] // 2
    extra = {"draft": {"tensors": {"embed_tokens.weight": ["BF16", [1024, 256]]}}}
    (embedded,) = report_of(tmp_path / "3", {**tight("0.5.12"), **extra}).findings
    assert embedded.finding.values["draft_bytes"] == alone.finding.values["draft_bytes"]


def test_versions_that_load_the_draft_first_are_spared(tmp_path: Path) -> None:
    assert report_of(tmp_path / "old", tight("0.5.13")).findings
    report = report_of(tmp_path / "new", tight("0.5.14"))
    assert not report.findings
    assert report.not_applicable == 1
