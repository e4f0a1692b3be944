"""Reads single facts of an unpacked SGLang wheel with ``ast``: shapes, names, pins. Maintenance only.

Every reader gives (value as ``values.json`` spells it, ``file:line``), or None where it finds nothing: a
function that has moved or changed its form is for a person to read again.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from eaglecfg.engines.wheel import parse

Found = tuple[Any, str]

_ARGUMENTS = ("srt/arg_groups/speculative_hook.py", "srt/server_args.py")
_PINNED = (
    "torch", "torchaudio", "transformers", "sgl-kernel", "sglang-kernel", "flashinfer_python",
    "flashinfer-python", "cuda-python", "nvidia-nccl-cu12", "nvidia-nccl-cu13",
)  # fmt: skip
_COUNTERS: Mapping[str, tuple[str, ...]] = {
    "correct_drafts": ("spec_num_correct_drafts", "spec_accepted_drafts", "spec_accept_token_num"),
    "verify_steps": ("spec_verify_ct",),
    "proposed_drafts": ("spec_num_proposed_drafts", "spec_proposed_drafts", "spec_draft_token_num"),
    "histogram": ("spec_correct_drafts_histogram", "spec_accept_histogram"),
    "accept_length": ("spec_accept_length",),
    "accept_rate": ("spec_accept_rate",),
}
"""What a counter was called, newest name first: a version that writes two names keeps the old one for
readers of before."""


def auto_shape(package: Path) -> Found | None:
    """The shape that is picked for a class where none is given: by class, and for any other."""
    for path, node in _functions(package, _ARGUMENTS, "choose_speculative_params"):
        table: dict[str, list[int]] = {}
        otherwise: list[int] | None = None
        for item in ast.walk(node):
            if isinstance(item, ast.If) and (names := _tested_names(item.test)) is not None:
                shape = _returned(item.body)
                table.update({name: shape for name in names if shape is not None})
                otherwise = _returned(item.orelse) or otherwise
        if table:
            return {"by_architecture": table, "otherwise": otherwise}, f"{path}:{node.lineno}"
    return None


def draft_from_target(package: Path) -> Found | None:
    """The target classes that draft with their own checkpoint where no draft is named."""
    for path in _ARGUMENTS:
        for node in ast.walk(_tree(package, path)):
            if not isinstance(node, ast.If) or not node.body or not isinstance(node.body[0], ast.If):
                continue
            names, inner = _tested_names(node.test), ast.unparse(node.body[0].test)
            if names is not None and "draft_model_path is None" in inner:
                return sorted(names), f"{path}:{node.lineno}"
    return None


def mtp_in_target(package: Path) -> Found | None:
    """The target classes whose own checkpoint is loaded as an MTP head where it is named as the draft.

    ``Dots3*``: every class whose config is a Dots3Config.
    """
    path = "srt/configs/model_config.py"
    tree = _tree(package, path)
    lists = {
        item.targets[0].id: list(_texts(item.value))
        for item in ast.iter_child_nodes(tree)
        if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name)
    }
    for _, node in _functions(package, (path,), "_config_draft_model"):
        names: set[str] = set()
        for branch in (item for item in node.body if isinstance(item, ast.If)):
            for test in ast.walk(branch.test):
                if isinstance(test, ast.Compare) and "architectures" in ast.unparse(test.left):
                    of = test.comparators[0]
                    names.update(lists.get(of.id, []) if isinstance(of, ast.Name) else _texts(of))
                if isinstance(test, ast.Call) and ast.unparse(test.func) == "isinstance":
                    names.add(ast.unparse(test.args[1]).removesuffix("Config") + "*")
        if names:
            return sorted(names), f"{path}:{node.lineno}"
    return None


def algorithms(package: Path) -> Found | None:
    """Every name that the engine takes as an algorithm, aliases included."""
    path = "srt/speculative/spec_info.py"
    names: set[str] = set()
    line = 0
    for node in ast.walk(_tree(package, path)):
        if isinstance(node, ast.ClassDef) and node.name == "SpeculativeAlgorithm":
            line = node.lineno
            for item in node.body:
                if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name):
                    names |= {item.targets[0].id} if item.targets[0].id.isupper() else set()
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
            ("register_speculative_algorithm", "SpeculativeAlgorithm.register")
        ):
            given = [*node.args[:1], *(one.value for one in node.keywords if one.arg == "aliases")]
            names |= {text for value in given for text in _texts(value) if text.isupper()}
    names |= {"NEXTN"} if line and "NEXTN" in _source(package, path) + _arguments(package) else set()
    return (sorted(names - {"NONE"}), f"{path}:{line}") if line and names else None


def draft_backends(package: Path) -> Found | None:
    """The attention kernels that a draft can run on: keys of the maps in the draft's factory."""
    path = "srt/speculative/draft_utils.py"
    names: set[str] = set()
    lines: list[int] = []
    for node in ast.walk(_tree(package, path)):
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or not isinstance(node.value, ast.Dict):
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Name) and "map" in target.id:
            names |= {text for key in node.value.keys if key is not None for text in _texts(key)}
            lines.append(node.lineno)
    return (sorted(names), f"{path}:{min(lines)}") if lines else None


def meta_info(package: Path) -> Found | None:
    """The names of the per-request counters in ``meta_info``; None for one that is not written."""
    written: dict[str, str] = {}
    for file in sorted((package / "srt" / "managers").glob("tokenizer*.py")):
        for node in ast.walk(parse(file)):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
                target = node.targets[0]
                if ast.unparse(target.value).endswith("meta_info"):
                    for text in _texts(target.slice):
                        written.setdefault(text, f"srt/managers/{file.name}:{node.lineno}")
    found = {
        counter: next((name for name in names if name in written), None)
        for counter, names in _COUNTERS.items()
    }
    place = written.get(found["verify_steps"] or "")
    return (found, place) if place else None


def pins(package: Path) -> Found | None:
    """What the wheel's metadata asks for, by package; ``python`` is the interpreter."""
    for file in _metadata(package):
        text = file.read_text(encoding="utf-8")
        found: dict[str, str | None] = {}
        for name in _PINNED:
            hit = re.search(
                rf"^Requires-Dist: {name}(?:\[[^\]]*\])? ?\(?([=<>!~][^;)\n]*)\)?\s*$", text, re.MULTILINE
            )
            if hit:
                found[name.replace("_", "-")] = hit[1].strip().replace(" ", "")
        python = re.search(r"^Requires-Python: (.*)$", text, re.MULTILINE)
        found["python"] = python[1].strip() if python else None
        return found, f"{file.parent.name}/METADATA:1"
    return None


READERS: Mapping[str, Callable[[Path], Found | None]] = {
    "auto_shape": auto_shape,
    "draft_from_target": draft_from_target,
    "mtp_in_target": mtp_in_target,
    "algorithms": algorithms,
    "draft_backends": draft_backends,
    "meta_info": meta_info,
    "pins": pins,
}
"""Key of ``values.json`` -> what reads it out of a wheel."""


def wheel_version(package: Path) -> str | None:
    """The version that the wheel's own metadata or ``version.py`` names."""
    for file in _metadata(package):
        hit = re.search(r"^Version: (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
        if hit:
            return hit[1].strip()
    for name in ("version.py", "_version.py"):
        hit = re.search(r"""^_*version_* = ['"]([^'"]+)['"]""", _source(package, name), re.MULTILINE)
        if hit:
            return hit[1]
    return None


def _metadata(package: Path) -> list[Path]:
    return sorted(package.parent.glob("sglang-*.dist-info/METADATA"))


def _source(package: Path, path: str) -> str:
    file = package / path
    return file.read_text(encoding="utf-8-sig") if file.is_file() else ""


def _arguments(package: Path) -> str:
    return "".join(_source(package, path) for path in _ARGUMENTS)


def _tree(package: Path, path: str) -> ast.Module:
    """The syntax tree of a file of the wheel, an empty one where this version has no such file."""
    return parse(package / path) if (package / path).is_file() else ast.Module(body=[], type_ignores=[])


def _functions(package: Path, paths: tuple[str, ...], ending: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    for path in paths:
        for node in ast.walk(_tree(package, path)):
            if isinstance(node, ast.FunctionDef) and node.name.endswith(ending):
                yield path, node


def _tested_names(test: ast.expr) -> list[str] | None:
    """The class names of a test like ``arch in ["A", "B"]`` or ``arch == "A"``, None for any other test."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], (ast.In, ast.Eq)):
        return None
    if "arch" not in ast.unparse(test.left):
        return None
    return list(_texts(test.comparators[0])) or None


def _returned(body: list[ast.stmt]) -> list[int] | None:
    """The numbers of the tuple that ``body`` returns."""
    for item in body:
        if isinstance(item, ast.Return) and isinstance(item.value, ast.Tuple):
            value = ast.literal_eval(item.value)
            return [int(number) for number in value]
    return None


def _texts(node: ast.expr) -> Iterator[str]:
    for item in ast.walk(node):
        if isinstance(item, ast.Constant) and isinstance(item.value, str):
            yield item.value
