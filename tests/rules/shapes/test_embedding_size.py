"""An embedding in the draft's files is loaded, whatever table runs in the end, and must fit for that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.rules.pairs import check, mla


def ids(folder: Path, draft: dict[str, Any], version: str = "0.5.14", **deployment: Any) -> set[str]:
    report = check(folder, title="", engine=version, draft=draft, deployment=deployment)
    assert not report.crashes
    return {one.rule.id for one in report.findings} & {"EC233", "EC235"}


@pytest.mark.parametrize("version", ["0.5.4.post1", "0.5.9", "0.5.14", "0.5.23"])
@pytest.mark.parametrize(
    ("rows", "columns", "wrong"), [(1024, 256, False), (1088, 256, True), (1024, 512, True)]
)
@pytest.mark.parametrize("name", ["embed_tokens.weight", "model.embed_tokens.weight"])
def test_the_size_decides(
    version: str, rows: int, columns: int, wrong: bool, name: str, tmp_path: Path
) -> None:
    found = ids(tmp_path, {"tensors": {name: ["BF16", [rows, columns]]}}, version)
    assert found == ({"EC233"} if wrong else {"EC235"})


@pytest.mark.parametrize(
    ("name", "loaded"), [("embed_tokens.weight", True), ("model.embed_tokens.weight", False)]
)
def test_a_spelling_that_the_class_drops_may_have_any_size(name: str, loaded: bool, tmp_path: Path) -> None:
    found = ids(tmp_path, mla(tensors={name: ["BF16", [1000, 256]]}), "0.5.14")
    assert ("EC233" in found) is loaded


def test_a_tied_head_needs_its_table_so_that_leaving_it_out_is_no_advice_that_costs_nothing(
    tmp_path: Path,
) -> None:
    tensors = {"embed_tokens.weight": ["BF16", [1000, 256]], "lm_head.weight": None}
    report = check(tmp_path, title="", draft={"config": {"tie_word_embeddings": True}, "tensors": tensors})
    found = [one.finding for one in report.findings if one.rule.id == "EC233"]
    assert found
    assert "[1024, 256]" in found[0].message


def test_an_override_of_the_vocabulary_sizes_the_table_too(tmp_path: Path) -> None:
    same = {"tensors": {"embed_tokens.weight": ["BF16", [1024, 256]]}}
    server = {"json_model_override_args": '{"vocab_size": 1088}'}
    assert ids(tmp_path, same, server=server) == {"EC233"}


@pytest.mark.parametrize("flag", ["load_format", "speculative_draft_load_format"])
def test_files_that_are_not_read_may_hold_any_size(flag: str, tmp_path: Path) -> None:
    wrong = {"tensors": {"embed_tokens.weight": ["BF16", [256, 256]]}}
    assert "EC233" not in ids(tmp_path, wrong, server={flag: "dummy"})
