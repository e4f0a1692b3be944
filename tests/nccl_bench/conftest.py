"""Plans over the stand-in rank, and launches made up for what only reads them."""

from __future__ import annotations

import importlib.util
import shutil
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from eaglecfg.nccl.bench.launches import Launch
from eaglecfg.nccl.bench.plan import BenchPlan
from eaglecfg.nccl.bench.setting import DEFAULT, Setting
from eaglecfg.nccl.bench.size import Size

STANDIN = Path(__file__).with_name("standin_rank.py")
LL = Setting("LL", {"NCCL_PROTO": "LL"})


@pytest.fixture
def standin(tmp_path: Path) -> str:
    """A command that starts the stand-in as a Python would start the worker."""
    path = tmp_path / "python-of-the-standin"
    path.write_text(f"#!{sys.executable} -SE\n{STANDIN.read_text(encoding='utf-8')}", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def make_plan(python: str = "python3", settings: Sequence[Setting] = (), **changes: Any) -> BenchPlan:
    """A plan of two ranks and two sizes; the default comes first by itself."""
    given: dict[str, Any] = {
        "settings": (Setting(DEFAULT, {}), *settings),
        "sizes": (Size(14336, "verify at batch 1"), Size(57344)),
        "dtype": "bfloat16",
        "backend": "nccl",
        "graph": True,
        "ranks": 2,
        "processes": 3,
        "python": python,
        "calls": 2,
        "replays": 2,
        "limit_s": 1.0,
    }
    return BenchPlan(**{**given, **changes})


def launch(setting: str, round: int, us: Mapping[int, float], **changes: Any) -> Launch:
    """A timed launch whose replays all took the same."""
    samples = {size: (value,) * 5 for size, value in us.items()}
    return Launch(setting, "time", round, 2.0, samples=samples, **changes)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """A temporary folder of its own; returns what is left in it."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return lambda: [entry.name for entry in folder.iterdir()]


@pytest.fixture(scope="session")
def torch_python() -> str:
    """A Python with torch, or the test does not apply."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("no torch is installed")
    return shutil.which(sys.executable) or sys.executable
