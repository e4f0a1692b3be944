"""The schemas are found from a checkout, an editable install and a wheel."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOOK = (
    "import eaglecfg.engines.table as t; facts = t.load_facts('sglang', '0.5.14'); "
    "assert facts is not None and facts.captures; print(len(facts.captures))"
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built by the backend in this environment: nothing is downloaded."""
    out = tmp_path_factory.mktemp("wheel")
    code = f"import hatchling.build as b; print(b.build_wheel({str(out)!r}))"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, timeout=120)
    return next(out.glob("*.whl"))


def test_the_wheel_carries_schemas_and_rule_documentation(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "eaglecfg/_schemas/eaglecfg.schema.json" in names
    assert any(name.startswith("eaglecfg/_schemas/engines/sglang/") for name in names)
    assert any(name.startswith("eaglecfg/rules/") and name.endswith(".yaml") for name in names)
    assert not any(name.startswith("schemas/") for name in names), "a top-level package would clash"


def _facts_seen(python_path: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", LOOK],
        cwd=cwd,
        env={"PYTHONPATH": python_path, "PATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_facts_are_the_same_from_checkout_and_wheel(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    assert _facts_seen(str(tmp_path / "site"), tmp_path) == _facts_seen(str(ROOT), tmp_path)


def test_an_editable_install_reads_the_checkout(tmp_path: Path) -> None:
    code = f"import hatchling.build as b; print(b.build_editable({str(tmp_path)!r}))"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, timeout=120)
    names = zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist()
    assert not any("_schemas" in name for name in names), "a copy would go stale"
    assert any(name.endswith(".pth") for name in names)
