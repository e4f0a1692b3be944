"""git, for tests that compare revisions."""

from __future__ import annotations

import subprocess


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], check=True, capture_output=True, text=True)
    return done.stdout
