"""Reads an unpacked SGLang wheel with ``ast``: its model classes and how each captures hidden states.

Maintenance only: nothing of the engine is imported or run, and ``validate`` never comes here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

SETTER = "set_eagle3_layers_to_capture"
_PACKAGE = "sglang."


@dataclass(frozen=True, slots=True)
class Module:
    """One parsed file of the wheel. ``path`` is relative to the package folder (``srt/models/llama.py``)."""

    path: str
    classes: Mapping[str, ast.ClassDef]
    imports: Mapping[str, tuple[str, str]]
    entries: tuple[str, ...]
    aliases: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Setter:
    """The capture setter that an architecture ends up with.

    ``owner`` is the class that defines it, ``code`` its text as ``ast.unparse`` writes it, so that equal code
    compares equal across versions.
    """

    architecture: str
    owner: str
    file: str
    line: int
    code: str


def read_models(package: Path) -> dict[str, Module]:
    """Every module under ``srt/models`` of the ``sglang`` folder, by path. OSError, SyntaxError."""
    modules: dict[str, Module] = {}
    for file in sorted((package / "srt" / "models").rglob("*.py")):
        path = file.relative_to(package).as_posix()
        modules[path] = _module(path, parse(file))
    return modules


def parse(file: Path) -> ast.Module:
    """The syntax tree of ``file``; a byte order mark (one model file has it) is skipped."""
    return ast.parse(file.read_text(encoding="utf-8-sig"))


def architectures(modules: Mapping[str, Module]) -> dict[str, str]:
    """Registered architecture -> the path of its module."""
    return {name: module.path for module in modules.values() for name in module.entries}


def read_setters(modules: Mapping[str, Module]) -> dict[str, Setter]:
    """The capture setter of every registered architecture that has one, inherited ones included."""
    found: dict[str, Setter] = {}
    for path, module in modules.items():
        for name in module.entries:
            hit = method(modules, path, name, SETTER)
            if hit is not None:
                owner_path, owner, node = hit
                found[name] = Setter(name, owner, owner_path, node.lineno, ast.unparse(node))
    return found


def method(
    modules: Mapping[str, Module], path: str, name: str, wanted: str
) -> tuple[str, str, ast.FunctionDef] | None:
    """(path, class, definition) of method ``wanted`` of class ``name``, base classes too.

    ``path`` is the module that ``name`` is seen from.
    """
    for owner_path, node in lineage(modules, path, name):
        for item in node.body:
            if isinstance(item, ast.FunctionDef) and item.name == wanted:
                return owner_path, node.name, item
    return None


def lineage(modules: Mapping[str, Module], path: str, name: str) -> Iterator[tuple[str, ast.ClassDef]]:
    """The class and its bases under ``srt/models``, depth first, as Python's lookup meets them."""
    yield from _lineage(modules, path, name, frozenset())


def _lineage(
    modules: Mapping[str, Module], path: str, name: str, seen: frozenset[tuple[str, str, bool]]
) -> Iterator[tuple[str, ast.ClassDef]]:
    module = modules.get(path)
    if module is None:
        return
    name = module.aliases.get(name, name)
    node = module.classes.get(name)
    if node is None:
        if name in module.imports:
            other, original = module.imports[name]
            yield from _lineage(modules, other, original, seen)
        return
    if (path, name, True) in seen:
        return
    yield path, node
    seen |= {(path, name, True)}
    for base in node.bases:
        if not isinstance(base, ast.Name):
            continue
        # ``class LlamaModel(LlamaModel)``: the base is the imported class of that name, not the class itself.
        if base.id == name and base.id in module.imports:
            other, original = module.imports[base.id]
            yield from _lineage(modules, other, original, seen)
        else:
            yield from _lineage(modules, path, base.id, seen)


def _module(path: str, tree: ast.Module) -> Module:
    imports: dict[str, tuple[str, str]] = {}
    aliases: dict[str, str] = {}
    entries: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(_PACKAGE):
            other = node.module.removeprefix(_PACKAGE).replace(".", "/") + ".py"
            imports.update({name.asname or name.name: (other, name.name) for name in node.names})
        elif (
            isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        ):
            target = node.targets[0].id
            if target == "EntryClass":
                entries += _names(node.value)
            elif isinstance(node.value, ast.Name) and node in tree.body:
                aliases[target] = node.value.id
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    return Module(path, classes, imports, tuple(dict.fromkeys(entries)), aliases)


def _names(value: ast.expr) -> list[str]:
    items = value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]
    return [item.id for item in items if isinstance(item, ast.Name)]
