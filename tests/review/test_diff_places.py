"""Moving a setting to another block, or writing its flag by another name, changes nothing in effect."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from eaglecfg import load, resolve
from eaglecfg.cli.main import run
from eaglecfg.rules.examples import materialize

PLACES: Mapping[str, Mapping[str, Any]] = {
    "block": {"parallel": {"tp_size": 3, "nnodes": 3}},
    "flag": {"parallel": None, "server": {"tp_size": 3, "nnodes": 3}},
    "alias": {"parallel": None, "server": {"tensor-parallel-size": 3, "nnodes": 3}},
    "beginning": {"parallel": None, "server": {"tp": 3, "nnode": 3}},
}
HARDWARE = {"hardware": {"gpu": "H200", "count": 1}}


@pytest.mark.parametrize("after", PLACES)
@pytest.mark.parametrize("before", PLACES)
def test_a_moved_setting_is_no_change(
    before: str, after: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (before, after):
        folder = tmp_path / name
        if not folder.exists():
            materialize({"deployment": {**PLACES[name], **HARDWARE}}, folder)
    (tmp_path / before / "after.yaml").write_text(
        (tmp_path / after / "eaglecfg.yaml").read_text("utf-8"), "utf-8"
    )
    one, other = tmp_path / before / "eaglecfg.yaml", tmp_path / before / "after.yaml"
    run(["diff", "--format", "json", str(one), str(other)])
    data = json.loads(capsys.readouterr().out)
    assert data["summary"]["changes_in_effect"] is False
    for file in data["files"]:
        found = file["findings"]
        assert {each["rule"] for kind in ("introduced", "fixed") for each in found[kind]} <= {"EC341"}


@pytest.mark.parametrize("place", PLACES)
def test_programs_get_the_same_answer(place: str, tmp_path: Path) -> None:
    config = load(materialize({"deployment": {**PLACES[place], **HARDWARE}}, tmp_path))
    found = resolve(config)
    for name in ("tp_size", "tp-size", "tensor_parallel_size", "--tensor-parallel-size", "tp"):
        assert (found.get(name).name, found.get(name).runs) == ("tp_size", 3)
    assert (found.get("page_s").name, found.get("page-size").name) == ("page_size", "page_size")
    assert found.get("nope").origin == "unknown"


@pytest.mark.parametrize("place", PLACES)
def test_trace_and_render_take_them_alike(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = materialize({"deployment": {**PLACES[place], "target": {"checkpoint": "target"}}}, tmp_path)
    run(["render", "--force", str(path)])
    shown = capsys.readouterr().out
    assert shown.count("--tp-size") == 1
    assert shown.count("--nnodes") == 1
    run(["trace", str(path), "--format", "json"])
    assert json.loads(capsys.readouterr().out)
