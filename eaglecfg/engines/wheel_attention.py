"""Reads which attention backends an unpacked SGLang wheel takes, with ``ast``. Maintenance only."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from eaglecfg.engines.wheel import parse

Found = tuple[Any, str]

MODEL_CONFIG = "srt/configs/model_config.py"
CLASS_CHECKS = ("srt/arg_groups/model_hook.py", "srt/server_args.py")
REGISTRY = "srt/layers/attention/attention_registry.py"
OF_ONE_MODEL = frozenset({"llada2_cfg_flashinfer"})
"""Backends that one model picks for itself and no flag gives."""


def mla_classes(package: Path) -> Found | None:
    """The classes with latent attention, and those that have it where a key of config.json says so."""
    classes: set[str] = set()
    where: dict[str, list[Any]] = {}
    lines: list[int] = []
    for node in ast.walk(_tree(package, MODEL_CONFIG)):
        if not isinstance(node, ast.If) or not any(_sets_mla(item) for item in node.body):
            continue
        lines.append(node.lineno)
        for name, condition in _classes_of(node.test):
            if condition is None:
                classes.add(name)
            else:
                where[name] = condition
    value = {"classes": sorted(classes), "where": dict(sorted(where.items()))}
    return (value, f"{MODEL_CONFIG}:{min(lines)}") if classes else None


def dsa_classes(package: Path) -> Found | None:
    """The classes that run DeepSeek's sparse attention where config.json has an ``index_topk``."""
    for node in ast.walk(_tree(package, MODEL_CONFIG)):
        if isinstance(node, ast.FunctionDef) and node.name in ("is_deepseek_dsa", "is_deepseek_nsa"):
            names = [text for text in _texts(node) if "For" in text and text[0].isupper() and " " not in text]
            return (sorted(names), f"{MODEL_CONFIG}:{node.lineno}") if names else None
    return None


def class_backends(package: Path) -> Found | None:
    """The attention backends that a target class is asserted to run on, by class."""
    found: dict[str, list[str]] = {}
    line, path = 0, ""
    for file in CLASS_CHECKS:
        tree = _tree(package, file)
        for node in ast.walk(tree):
            if not isinstance(node, ast.If) or "arch" not in ast.unparse(node.test):
                continue
            names = list(_tested(node.test, package))
            allowed = _asserted(node.body) if names else None
            if allowed:
                found |= dict.fromkeys(names, allowed)
                line, path = (line, path) if line else (node.lineno, file)
    return (dict(sorted(found.items())), f"{path}:{line}") if found else None


def raising_backends(package: Path) -> Found | None:
    """The backends whose builder raises for one kind of attention, and the kind that they take."""
    found: dict[str, str] = {}
    line = 0
    for node in ast.walk(_tree(package, REGISTRY)):
        if not isinstance(node, ast.FunctionDef):
            continue
        for name in _registered(node):
            for item in node.body:
                if isinstance(item, ast.If) and any(isinstance(one, ast.Raise) for one in item.body):
                    test = ast.unparse(item.test)
                    if test in ("not runner.use_mla_backend", "runner.use_mla_backend"):
                        if name in OF_ONE_MODEL:
                            continue
                        found[name] = "mla" if test.startswith("not") else "mha"
                        line = line or node.lineno
    return (dict(sorted(found.items())), f"{REGISTRY}:{line}") if found else None


READERS: Mapping[str, Callable[[Path], Found | None]] = {
    "mla": mla_classes,
    "dsa": dsa_classes,
    "class_backends": class_backends,
    "takes": raising_backends,
}
"""Table of ``attention.json`` -> what reads it out of a wheel."""


def told(table: str, rows: Mapping[str, Mapping[str, Any]]) -> Any:
    """The rows of ``table`` at one version, in the form that its reader gives."""
    match table:
        case "mla":
            where = {name: row["where"] for name, row in rows.items() if "where" in row}
            return {"classes": sorted(set(rows) - set(where)), "where": dict(sorted(where.items()))}
        case "dsa":
            return sorted(rows)
        case "class_backends":
            return {name: row["backends"] for name, row in sorted(rows.items())}
        case _:
            raising = {name: row["kind"] for name, row in rows.items() if row["raises"] == "ValueError"}
            return dict(sorted(raising.items()))


def _sets_mla(item: ast.stmt) -> bool:
    return isinstance(item, ast.Assign) and ast.unparse(item.value) == "AttentionArch.MLA"


def _classes_of(test: ast.expr) -> Iterator[tuple[str, list[Any] | None]]:
    """Each class that ``test`` names, with the key (and its value where absent) that it also asks for."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        for part in test.values:
            yield from _classes_of(part)
        return
    condition = None
    for node in ast.walk(test):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "getattr":
            condition = [ast.literal_eval(one) for one in node.args[1:3]]
    for node in ast.walk(test):
        if isinstance(node, ast.Compare) and "architectures" in ast.unparse(node.comparators[0]):
            for name in _texts(node.left):
                yield name, condition


def _tested(test: ast.expr, package: Path) -> Iterator[str]:
    """The classes that ``test`` on the architecture names; a named list is looked up in the wheel."""
    for node in ast.walk(test):
        if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], (ast.In, ast.Eq)):
            continue
        if "arch" in ast.unparse(node.left):
            lists = [name.id for name in ast.walk(node.comparators[0]) if isinstance(name, ast.Name)]
            for name in lists:
                yield from _named_list(package, name)
            yield from (text for text in _texts(node.comparators[0]) if "For" in text)
        elif "arch" in ast.unparse(node.comparators[0]):
            for text in _texts(node.left):  # a beginning, as in "Llama4" in model_arch
                yield from (text,) if "For" in text else (f"{text}ForCausalLM", f"{text}{_MULTIMODAL}")


_MULTIMODAL = "ForConditionalGeneration"


def _named_list(package: Path, name: str) -> Iterator[str]:
    for path in (*CLASS_CHECKS, "srt/arg_groups/choices.py"):
        for node in _tree(package, path).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
                yield from (text for text in _texts(node.value) if "For" in text)
                return


def _asserted(body: list[ast.stmt]) -> list[str] | None:
    """The names of the list that every backend is asserted to be in, None where nothing of the kind is."""
    lists: dict[str, list[str]] = {}
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                texts = list(_texts(node.value)) if isinstance(node.value, (ast.List, ast.Tuple)) else []
                lists[node.targets[0].id] = texts
            if not isinstance(node, ast.Assert):
                continue
            for test in ast.walk(node.test):
                if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.In):
                    continue
                if "backend" in ast.unparse(test.left):
                    names = lists.get(ast.unparse(test.comparators[0])) or list(_texts(test.comparators[0]))
                    return sorted(names)
    return None


def _registered(node: ast.FunctionDef) -> Iterator[str]:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and "register_attention_backend" in ast.unparse(decorator.func):
            yield from _texts(decorator)


def _tree(package: Path, path: str) -> ast.Module:
    return parse(package / path) if (package / path).is_file() else ast.Module(body=[], type_ignores=[])


def _texts(node: ast.AST) -> Iterator[str]:
    for item in ast.walk(node):
        if isinstance(item, ast.Constant) and isinstance(item.value, str):
            yield item.value
