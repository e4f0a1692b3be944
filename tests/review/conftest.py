"""Repositories for tests that compare revisions."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from eaglecfg.rules.examples import materialize
from tests.review.repositories import git

VARIABLES = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    **{f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository that every test gets a copy of: git is started for it once."""
    folder = tmp_path_factory.mktemp("repository")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in VARIABLES.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        git("init", "-q", "-b", "main")
        materialize({"title": "base"}, folder / "deploy")
        git("add", "-A")
        git("commit", "-q", "-m", "base")
        git("checkout", "-q", "-b", "other")
        materialize(
            {
                "deployment": {
                    "speculative": {"num_steps": 2, "num_draft_tokens": 3},
                    "nccl": {"proto": "LL"},
                },
                "draft": {"config": {"eagle_config": {"eagle_aux_hidden_state_layer_ids": [3, 6, 9]}}},
            },
            folder / "deploy",
        )
        git("commit", "-q", "-a", "-m", "other")
    return folder


@pytest.fixture
def repository(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a small pair under deploy/ on main, and a branch ``other`` that breaks it."""
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    shutil.copytree(made, tmp_path, dirs_exist_ok=True, symlinks=True)
    monkeypatch.chdir(tmp_path)
    git("update-index", "-q", "--refresh")
    return tmp_path
