"""What the verdict of an incomplete run says was lacking, by cause and in every format that has a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.cli.main import run
from eaglecfg.report.lacking import lacking
from eaglecfg.report.styled import plain
from eaglecfg.report.upgrade import render
from eaglecfg.rules.examples import materialize
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.runner import validate
from eaglecfg.rules.upgrade import Upgrade, View
from eaglecfg.source.read import read_document

HARDWARE = {"gpu": "H200", "count": 1, "topology": "single"}
UNREAD = "something that the config names could not be read"
Example = Mapping[str, Any]

CAUSES: list[tuple[Example, bool, str]] = [
    # (the config, whether every check is required, the whole sentence)
    ({}, True, "the config has no hardware block, which 3 required checks need"),
    ({"deployment": {"target": {"checkpoint": "nowhere"}, "hardware": HARDWARE}}, False, UNREAD),
    ({"deployment": {"target": {"checkpoint": "nowhere"}, "hardware": HARDWARE}}, True, UNREAD),
    (
        {"deployment": {"target": {"checkpoint": "nowhere"}}},
        True,
        f"{UNREAD}; the config has no hardware block, which 2 required checks need",
    ),
    ({"remove": ["draft/model.safetensors"], "deployment": {"hardware": HARDWARE}}, False, UNREAD),
    (
        {"deployment": {"draft": {"checkpoint": "somebody/a-draft"}, "hardware": HARDWARE}},
        False,
        "a checkpoint is no folder here and not in the hub cache (--online reads it from the hub)",
    ),
    ({"engine": "main", "deployment": {"hardware": HARDWARE}}, True, "the engine version is not known"),
    ({"config": {"engine": {"name": "vllm"}}}, False, "the engine is not known"),
    (
        {"deployment": {"capture": {"trained_boundaries": None}, "hardware": HARDWARE}},
        True,
        "the trained boundaries are not given, which",
    ),
    (
        {"deployment": {"hardware": {"count": 2}, "parallel": {"tp_size": 2}, "nccl": {"proto": "LL128"}}},
        True,
        "2 required checks could not be made: whether LL128 is safe: declare hardware.topology; ",
    ),
]  # fmt: skip


def report(folder: Path, example: Example, *, strict: bool) -> Report:
    return validate([read_document(materialize(example, folder))], require=["EC"] if strict else [])


@pytest.mark.parametrize(("example", "strict", "says"), CAUSES)
def test_the_verdict_names_what_was_lacking_and_nothing_else(
    example: Example, strict: bool, says: str, tmp_path: Path
) -> None:
    found = lacking(report(tmp_path, example, strict=strict))
    assert found.startswith(says), found
    assert ("could not be read" in found) == ("could not be read" in says)
    assert ("hardware block" in found) == ("hardware block" in says)
    assert ("version" in found) == ("version" in says)


def test_many_reasons_are_counted_and_long_ones_cut(tmp_path: Path) -> None:
    long = "x" * 2_000
    sketch = {
        "deployment": {"hardware": {"count": 1}, "env": {"NCCL_P2P_LEVEL": "NVL", "NCCL_PROTO": "LL128"}}
    }
    found = lacking(
        report(tmp_path, {**sketch, "target": {"config": {"architectures": [long]}}}, strict=True)
    )
    assert len(found) < 600


@pytest.mark.parametrize(
    ("options", "head"),
    [
        ([], "INCOMPLETE  "),
        (["--quiet"], "INCOMPLETE  "),
        (["--format", "github"], "eaglecfg: INCOMPLETE (exit 3): "),
        (["--format", "markdown"], "### eaglecfg: INCOMPLETE\n\n"),
        (["--engine-version", "0.5.21,0.5.23"], "INCOMPLETE  "),
    ],
)
def test_every_format_with_a_verdict_says_it(
    options: list[str],
    head: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    materialize({}, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert run(["validate", "--strict", *options]) == 3
    out = capsys.readouterr().out
    assert f"{head}the config has no hardware block, which 3 required checks need" in out
    assert UNREAD not in out


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_a_comparison_says_what_the_later_state_lacks(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        materialize({}, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    assert run(["diff", "--strict", "--format", form, "a", "b"]) == 3
    out = capsys.readouterr().out
    assert "the config has no hardware block, which 3 required checks need" in out
    assert "could not be read" not in out


def test_versions_that_lack_something_are_named_where_others_do_not(tmp_path: Path) -> None:
    whole = report(tmp_path / "a", {"deployment": {"hardware": HARDWARE}}, strict=True)
    partly = report(tmp_path / "b", {}, strict=True)
    assert (whole.exit_code(), partly.exit_code()) == (0, 3)
    views = tuple(View(name, None, each, {}) for name, each in (("1", whole), ("2", partly)))
    upgrade = Upgrade(whole.documents, views, (), ((),))
    text = plain(render(upgrade, Severity.ERROR, version="1", width=200))
    assert (
        "INCOMPLETE  with 2 the config has no hardware block, which 3 required checks need (exit 3)" in text
    )
