"""Reads the messages that an unpacked SGLang wheel stops at its arguments with. Maintenance only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from eaglecfg.engines.wheel import parse


def read_messages(package: Path) -> tuple[str, ...]:
    """The text of every assertion and error in the argument handling. Raises OSError, SyntaxError.

    Of formatted text the parts between the values stay, and a name in braces for each value.
    """
    main = package / "srt" / "server_args.py"
    files = [main, *sorted((package / "srt" / "arg_groups").rglob("*.py"))]
    return tuple(text for file in files if file.exists() for text in _messages(parse(file)))


def _messages(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        said = node.exc if isinstance(node, ast.Raise) else node.msg if isinstance(node, ast.Assert) else None
        if said is not None:
            yield " ".join(ast.unparse(said).split())
