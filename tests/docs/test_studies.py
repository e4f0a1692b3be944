"""Recorded studies: their pages are what the command prints from their ledgers."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from eaglecfg.cli.main import run

ROOT = Path(__file__).parents[2]
MARK = "<!-- report -->"
PAGES = [page for page in sorted((ROOT / "studies/results").glob("*.md")) if MARK in page.read_text("utf-8")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_the_report_of_its_ledger(
    page: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    text = page.read_text(encoding="utf-8")
    command = re.search(r"^    (eaglecfg tune (?:.|\n)+?)\n\n", text, re.MULTILINE)
    assert command is not None
    words = shlex.split(command[1].replace("\\\n", " "))
    record = f"studies/results/{page.stem}"
    assert run(["tune", "report", *words[2:], "--out", record, "--format", "markdown"]) == 0
    printed = capsys.readouterr().out.partition("\n")[2].strip()
    assert text.partition(MARK)[2].strip() == printed


def test_there_are_such_pages() -> None:
    assert PAGES
