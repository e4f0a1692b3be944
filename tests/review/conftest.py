"""Repositories for tests that compare revisions."""

from __future__ import annotations

from pathlib import Path

import pytest

from eaglecfg.rules.examples import materialize
from tests.review.repositories import git


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a small pair under deploy/ on main, and a branch ``other`` that breaks it."""
    for name, value in (
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_SYSTEM", "/dev/null"),
        *(
            (f"GIT_{who}_{what}", "a@example.org")
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        ),
    ):
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    git("init", "-q", "-b", "main")
    materialize({"title": "base"}, tmp_path / "deploy")
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
        tmp_path / "deploy",
    )
    git("commit", "-q", "-a", "-m", "other")
    return tmp_path
