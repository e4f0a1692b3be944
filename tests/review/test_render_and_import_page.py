"""docs/how-to/render-and-import.md shows what the tool prints.

To write its screens anew: ``python -m tests.review.test_render_and_import_page``.
"""

from __future__ import annotations

import io
import os
import re
import shlex
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from eaglecfg.cli.main import run

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "render-and-import.md"
SCREEN = re.compile(r"```console\n\$ eaglecfg (?P<command>[^\n]*)\n.*?```", re.DOTALL)


def printed(command: str) -> str:
    """What a command prints, both streams as on a terminal."""
    screen = io.StringIO()
    with redirect_stdout(screen), redirect_stderr(screen):
        run(shlex.split(command))
    return screen.getvalue()


def written_anew(text: str) -> str:
    def screen(found: re.Match[str]) -> str:
        return f"```console\n$ eaglecfg {found['command']}\n{printed(found['command'])}```"

    return SCREEN.sub(screen, text)


def test_its_screens_are_real(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = PAGE.read_text(encoding="utf-8")
    assert len(SCREEN.findall(text)) >= 3
    assert written_anew(text) == text


if __name__ == "__main__":
    os.chdir(ROOT)
    PAGE.write_text(written_anew(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
