"""EC340 names the flags that rules read as they run; this finds them in the code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from eaglecfg.engines.table import load_facts
from eaglecfg.rules.arguments.ec340_engine_disagrees import READ_BY_RULES

PACKAGE = Path(__file__).parents[3] / "eaglecfg"


def read_names(tree: ast.AST) -> Iterator[str]:
    """Names in ``something.runs("name")``, given as they stand."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "runs":
            for argument in node.args:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield argument.value


def test_every_flag_that_is_read_as_it_runs_is_named() -> None:
    facts = load_facts("sglang", "0.5.23")
    assert facts is not None
    files = [file for part in ("rules", "engines", "nccl") for file in (PACKAGE / part).rglob("*.py")]
    found = {name for file in files for name in read_names(ast.parse(file.read_text(encoding="utf-8")))}
    flags = {name for name in found if name in facts.flags and facts.flags[name].default is not None}
    assert "tp_size" in flags
    assert flags <= READ_BY_RULES
