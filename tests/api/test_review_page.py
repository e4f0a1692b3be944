"""docs/how-to/review-a-pull-request.md shows what the tool prints."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from how_to_pages import ROOT, page, steady, written_anew

from eaglecfg.cli.main import run

PAGE = page("review-a-pull-request.md")


def make_repository(folder: Path) -> None:
    """The repository of the page: this one's example on main, and the branch that the page reviews."""
    for name in ("target", "draft"):
        shutil.copytree(ROOT / "examples" / "tiny" / name, folder / "examples" / "tiny" / name)
    shutil.copytree(ROOT / "studies", folder / "studies")
    shutil.copy(ROOT / "examples" / "tiny" / "prompts.jsonl", folder / "examples" / "tiny")
    text = (ROOT / "eaglecfg.yaml").read_text(encoding="utf-8")
    (folder / "eaglecfg.yaml").write_text(text, encoding="utf-8")

    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-q", "-m", "base")
    git("checkout", "-q", "-b", "three-steps")
    shape = "num_steps: 2, eagle_topk: 1, num_draft_tokens: 3"
    assert text.count(shape) == 1
    changed = text.replace(shape, "num_steps: 3, eagle_topk: 1, num_draft_tokens: 4")
    (folder / "eaglecfg.yaml").write_text(changed, encoding="utf-8")
    path = folder / "examples" / "tiny" / "draft" / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["eagle_config"]["eagle_aux_hidden_state_layer_ids"] = [2, 4, 6]
    path.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    git("commit", "-q", "-a", "-m", "Three steps")
    git("checkout", "-q", "main")


def test_its_screens_are_real(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "a")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "a@example.org")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.chdir(tmp_path)
    make_repository(tmp_path)

    def screen(words: list[str]) -> str:
        run(words)
        return capsys.readouterr().out

    text = PAGE.read_text(encoding="utf-8")
    anew = written_anew(text, screen)
    (tmp_path / "page.md").write_text(anew, encoding="utf-8")
    assert steady(text) == steady(anew), f"the page is old; it would be: {tmp_path / 'page.md'}"
