"""Who reads a block of a deployment reads the one form in which each flag stands in its own block."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import eaglecfg

PACKAGE = Path(eaglecfg.__file__).parent
BLOCKS = {"target", "draft", "parallel", "speculative", "server"}
AS_WRITTEN = {"rules/schema/ec104_same_setting_twice.py": "finds what is given in two places"}
NORMAL = ("loaded_in_blocks(", "in_blocks(", "deployment_of(")
"""Functions that give that form; ``Context.model`` is made of it."""
FILES = [
    path.relative_to(PACKAGE).as_posix()
    for part in ("rules", "machine", "nccl", "review", "report", "live")
    for path in sorted((PACKAGE / part).rglob("*.py"))
]


def _reads(tree: ast.Module) -> Iterator[str]:
    """Reads of a block that do not go through a context, as source text."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        inner = node.value
        if not isinstance(inner, ast.Attribute):
            continue
        whose = ast.unparse(inner.value).rpartition(".")[2]
        if node.attr in BLOCKS and inner.attr == "model" and whose not in ("ctx", "context", "self"):
            yield ast.unparse(node)
        if node.attr == "model" and inner.attr == "deployment":
            yield ast.unparse(node)


def test_no_block_is_read_as_the_file_has_it() -> None:
    found = {}
    for name in FILES:
        text = (PACKAGE / name).read_text("utf-8")
        if name in AS_WRITTEN or name == "rules/context.py" or any(each in text for each in NORMAL):
            continue
        if reads := list(_reads(ast.parse(text))):
            found[name] = reads
    assert found == {}
