"""Which config keys a draft class of an unpacked wheel reads. Maintenance only, read with ``ast``."""

from __future__ import annotations

import ast
from pathlib import Path

from eaglecfg.engines.wheel import parse

_PLUMBING = {"get"}


def draft_keys(file: Path) -> dict[str, int]:
    """Key of config.json (or of ``eagle_config``) that the module reads -> the line of its first reading."""
    found: dict[str, int] = {}
    for node in ast.walk(parse(file)):
        key = _key(node)
        if key is not None and key not in _PLUMBING:
            line = getattr(node, "lineno", 1)
            found[key] = min(line, found.get(key, line))
    return found


def _key(node: ast.AST) -> str | None:
    """``config.key``, ``config["key"]``, ``config.get("key")`` or ``getattr(config, "key")``."""
    if isinstance(node, ast.Attribute) and _is_config(node.value):
        return node.attr
    if isinstance(node, ast.Subscript) and _is_config(node.value):
        return _constant(node.slice)
    if isinstance(node, ast.Call):
        called = ast.unparse(node.func)
        if called in ("getattr", "hasattr") and len(node.args) > 1 and _is_config(node.args[0]):
            return _constant(node.args[1])
        if called.endswith("config.get") and node.args:
            return _constant(node.args[0])
    return None


def _is_config(node: ast.expr) -> bool:
    return ast.unparse(node).rpartition(".")[2] in ("config", "hf_config", "eagle_config")


def _constant(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
