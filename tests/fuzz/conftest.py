from __future__ import annotations

from pathlib import Path

import pytest

from eaglecfg.rules.examples import materialize


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the base pair with a study; tests rewrite single files of it and put them back."""
    folder = tmp_path_factory.mktemp("pair")
    materialize({"study": {}}, folder)
    return folder
