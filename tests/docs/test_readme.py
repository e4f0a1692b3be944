"""What the README shows is what the tool prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from eaglecfg.cli.main import run

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = re.compile(r"```text\n\$ eaglecfg (?P<command>[^\n]*)\n(?P<output>.*?)```", re.DOTALL)


def _steady(text: str) -> str:
    """``text`` without what changes by itself: the time taken, and counts that grow with every new rule."""
    text = re.sub(r"\d+\.\d\d s$", "T s", text, flags=re.MULTILINE)
    return re.sub(r"\d+ (rules|checks|passed|not applicable)", r"N \1", text).strip()


@pytest.mark.parametrize("shown", list(SHOWN.finditer(README)), ids=lambda found: found["command"])
def test_the_screens_of_the_readme_are_real(
    shown: re.Match[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = ROOT / "examples" / "kimi-k2.5" / "make_files.py"
    folder = tmp_path / "examples" / "kimi-k2.5"
    subprocess.run([sys.executable, script, folder], check=True, timeout=60)
    for config in script.parent.glob("*.yaml"):
        (folder / config.name).write_text(config.read_text())
    monkeypatch.chdir(tmp_path)
    run(shown["command"].split())
    assert _steady(shown["output"]) == _steady(capsys.readouterr().out)


def test_every_file_that_the_readme_names_exists() -> None:
    names = re.findall(r"\]\(([^)#:]+)\)", README)
    assert names
    for name in names:
        assert (ROOT / name).exists(), name
