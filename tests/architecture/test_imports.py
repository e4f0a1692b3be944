"""Which part may import which. Read from the source with ast, so that lazy imports count too."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import eaglecfg

PACKAGE = Path(eaglecfg.__file__).parent
PARTS = {
    "source": set(),
    "schema": {"source"},
    "checkpoint": {"source"},
    "engines": {"source", "schema", "checkpoint"},
    "nccl": {"source", "schema", "checkpoint", "engines"},
    "machine": {"source", "schema", "checkpoint", "engines", "nccl"},
    "rules": {"source", "schema", "checkpoint", "engines", "nccl"},
    "report": {"source", "schema", "checkpoint", "engines", "nccl", "machine", "rules"},
    "tune": {"source", "schema", "checkpoint", "engines", "nccl", "machine", "rules"},
    "reference": {"source", "schema", "checkpoint", "engines"},
    "live": {"source", "schema", "checkpoint", "engines", "nccl", "machine", "rules", "tune"},
    "review": {"source", "schema", "checkpoint", "engines", "nccl", "machine", "rules", "report", "tune"},
}
HEAVY = {"torch", "transformers", "optuna", "scipy", "sglang", "aiohttp", "psutil", "pynvml", "safetensors"}
OTHER_PROCESSES = {"ask_child.py": "sglang", "worker.py": "torch"}
"""Files that no other module imports: their text runs in a Python of the user's that has the package."""
ROOT_MODULES = {"errors", "record", "schema_files", "__init__"}


def _modules(part: str) -> list[Path]:
    return sorted((PACKAGE / part).rglob("*.py"))


def _imported(path: Path) -> set[str]:
    """Every absolute module name that ``path`` imports, at any depth of nesting."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("part", PARTS)
def test_a_part_imports_only_the_parts_below_it(part: str) -> None:
    allowed = PARTS[part] | {part} | ROOT_MODULES
    for path in _modules(part):
        ours = {name.split(".")[1] for name in _imported(path) if name.startswith("eaglecfg.")}
        ours = {name for name in ours if (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()}
        assert ours <= allowed, f"{path.relative_to(PACKAGE)} imports {sorted(ours - allowed)}"


@pytest.mark.parametrize("part", sorted(set(PARTS) - {"tune", "reference", "machine"} | {"cli"}))
def test_heavy_packages_stay_in_tune_and_reference(part: str) -> None:
    for path in _modules(part):
        found = {name.split(".")[0] for name in _imported(path)} & HEAVY
        found -= {OTHER_PROCESSES.get(path.name, "")}
        assert not found, f"{path.relative_to(PACKAGE)} imports {sorted(found)}"


@pytest.mark.parametrize("part", [*PARTS])
def test_only_the_command_line_prints_exits_or_reads_the_environment(part: str) -> None:
    for path in _modules(part):
        # The stand-in server and modules with an entry point of their own run as separate processes.
        if "standin" in path.parts or "__main__" in path.read_text(encoding="utf-8"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"print", "exit", "quit"}, path
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                name = f"{node.value.id}.{node.attr}"
                assert name not in {"os.environ", "os.getenv", "sys.exit"}, f"{path} uses {name}"


def test_click_lives_in_the_command_line_only() -> None:
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.parent.name != "cli":
            assert "click" not in {name.split(".")[0] for name in _imported(path)}, path
