"""Files that can be read in one sitting."""

from __future__ import annotations

import ast
import statistics
from pathlib import Path

import eaglecfg

PACKAGE = Path(eaglecfg.__file__).parent


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_no_file_is_longer_than_500_lines_and_half_are_within_120() -> None:
    sizes = {path: _lines(path) for path in PACKAGE.rglob("*.py")}
    assert {str(path): size for path, size in sizes.items() if size > 500} == {}
    assert statistics.median(sizes.values()) <= 120


def test_no_function_is_longer_than_60_lines() -> None:
    long = {}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                size = (node.end_lineno or node.lineno) - node.lineno + 1
                if size > 60:
                    long[f"{path.name}:{node.name}"] = size
    assert long == {}


def test_no_file_is_named_for_nothing() -> None:
    names = {path.stem for path in PACKAGE.rglob("*.py")}
    assert not names & {"utils", "util", "helpers", "helper", "misc", "common"}
