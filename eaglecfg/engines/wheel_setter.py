"""Runs the capture setters of an unpacked SGLang wheel on stubs and compares them with the facts.

Maintenance only. The setter's own code is executed, alone: its syntax tree is first checked against a short
list of what such a setter may do (no import, no underscore name but the layer flag, no call but a
handful), then run with no builtins on a stand-in model. Nothing else of the wheel is loaded.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random
from types import SimpleNamespace
from typing import Any

from eaglecfg.engines.boundaries import effective_boundaries
from eaglecfg.engines.capture import RULES, run_setter
from eaglecfg.engines.facts import CaptureFact, EngineFacts
from eaglecfg.engines.wheel import SETTER, Module, lineage, method
from eaglecfg.record import replace

FLAG = "_is_layer_to_capture"

_NODES = (
    ast.Module, ast.FunctionDef, ast.arguments, ast.arg, ast.If, ast.For, ast.Return, ast.Raise, ast.Expr,
    ast.Assign, ast.Name, ast.Attribute, ast.Constant, ast.List, ast.ListComp, ast.comprehension,
    ast.Subscript, ast.Call, ast.BinOp, ast.Add, ast.Sub, ast.FloorDiv, ast.BoolOp, ast.And, ast.Or,
    ast.UnaryOp, ast.Not, ast.Compare, ast.Is, ast.IsNot, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE,
    ast.Load, ast.Store,
)  # fmt: skip

_CALLS = {
    "hasattr",
    "setattr",
    "len",
    "max",
    "list",
    "AttributeError",
    "get_pp_group",
    "get_parallel",
    SETTER,
}
_LAST_RANK = SimpleNamespace(is_last_rank=True)
_GLOBALS: Mapping[str, Any] = {
    "hasattr": hasattr,
    "setattr": setattr,
    "len": len,
    "max": max,
    "list": list,
    "AttributeError": AttributeError,
    "get_pp_group": lambda: _LAST_RANK,
    "get_parallel": lambda: SimpleNamespace(pp_group=_LAST_RANK),
}

DEPTHS = (1, 2, 3, 4, 5, 7, 12, 24, 36, 48, 61, 64, 80, 94)
"""Depths of target to run a setter on: tiny ones, where thirds collide, and those of real models."""

_LAST = ("short", "crash_at_start")
"""What can happen to boundary n as far as a setter shows it."""


class Refused(Exception):
    """The setter does something that is not on the list. The text names it."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The facts say ``told``, the wheel's setter does ``found``, for this class, depth and id list."""

    architecture: str
    layers: int
    ids: tuple[int, ...] | None
    told: str
    found: str


class _Model:
    """A target of ``layers`` layers with the attributes that setters touch."""

    def __init__(self, layers: int) -> None:
        config = SimpleNamespace(num_hidden_layers=layers)
        config.text_config = config
        self.config = config
        self.pp_group = _LAST_RANK
        self.capture_aux_hidden_states = False
        self.layers = [SimpleNamespace() for _ in range(layers)]
        self.layers_to_capture: list[int] = []
        self.model: Any = None
        self.language_model: Any = None


def probes(layers: int) -> Iterator[tuple[int, ...] | None]:
    """Id lists that tell id rules apart on a target of ``layers`` layers: edges, order, doubles, and chance.

    The same lists at every call: chance has a fixed seed.
    """
    yield from (None, (), (0,), (1,), (-1, 5, 9), (-2, 5, 9), (9, 5, 1), (1, 1, 2), (4, 5, 6, 7), (2, 30, 58))
    for first in (0, 1, 2, layers - 1, layers, layers + 1):
        yield (first, 1, 2)
        yield (1, 2, first)
    chance = Random(layers)
    for _ in range(24):
        ids = [chance.randint(-1, layers + 1) for _ in range(chance.randint(1, 5))]
        yield tuple(sorted(ids)) if chance.random() < 0.7 else tuple(ids)


def differences(
    facts: EngineFacts, modules: Mapping[str, Module], architecture: str, depths: Sequence[int] = DEPTHS
) -> Iterator[Difference]:
    """Where the wheel's setter marks other layers for ``architecture`` than effective_boundaries says.

    Raises Refused for a setter that does more than a setter should.
    """
    fact = facts.captures[architecture]
    run = setter_of(modules, fact)
    for layers in depths:
        for ids in dict.fromkeys(probes(layers)):
            answer = effective_boundaries(facts, architecture, layers, ids, graphs=False)
            assert answer is not None  # the class is among the captures
            crashes = answer.outcome == "crash_at_start"
            told = "crash" if crashes else str(sorted(answer.shifted))
            if not fact.usable:  # it has a setter all the same, whose own faults the answer hides
                told = _marks(fact, layers, ids)
            found = run(layers, ids)
            if told != found:
                yield Difference(architecture, layers, ids, told, found)


def rule_of(modules: Mapping[str, Module], architecture: str, delegates: str = "") -> dict[str, Any] | None:
    """The setter's part of a capture row that ``architecture`` behaves like, None where none fits.

    ``delegates`` is the class whose setter really runs. What no setter shows (``embedding``, ``residual``,
    ``deferred``) is left out.
    """
    for rule, default, last in product(RULES, ("third_points", "third_points_plus_one"), _LAST):
        fact = CaptureFact(architecture, rule, default, "captured", last, False, True, True, "", "", "")
        fact = replace(fact, delegates=delegates)
        try:
            run = setter_of(modules, fact)
            if all(
                run(layers, ids) == _marks(fact, layers, ids) for layers in DEPTHS for ids in probes(layers)
            ):
                row = {"rule": rule, "last": "crash_at_start"} if last == "crash_at_start" else {"rule": rule}
                return row if default == "third_points" else {**row, "default": default}
        except Refused:
            return None
    return None


def _marks(fact: CaptureFact, layers: int, ids: tuple[int, ...] | None) -> str:
    marks = run_setter(fact, layers, ids)
    return "crash" if marks.outcome == "crash_at_start" else str(sorted(marks.shifted))


def run_in_wheel(
    modules: Mapping[str, Module], fact: CaptureFact, layers: int, ids: tuple[int, ...] | None
) -> str:
    """The layers that the wheel's setter marks, sorted, as text; ``crash`` where it raises IndexError."""
    return setter_of(modules, fact)(layers, ids)


Run = Callable[[int, tuple[int, ...] | None], str]


def setter_of(modules: Mapping[str, Module], fact: CaptureFact) -> Run:
    """What ``run_in_wheel`` runs, compiled once. Refused: it does more than a setter should, or is gone."""
    name = fact.delegates or fact.architecture
    path = next((module.path for module in modules.values() if name in module.entries), None)
    found = method(modules, path, name, SETTER) if path is not None else None
    if path is None or found is None:
        raise Refused(f"{name} has no capture setter")
    outside = compile_setter(found[2])
    built = inner_class(modules, path, name)
    hit = method(modules, *built, SETTER) if built is not None else None
    inside = compile_setter(hit[2]) if hit is not None else None

    def run(layers: int, ids: tuple[int, ...] | None) -> str:
        outer, inner = _Model(layers), _Model(layers)
        outer.model = outer.language_model = inner
        if inside is not None:
            setattr(inner, SETTER, lambda boundaries: inside(inner, boundaries))
        try:
            outside(outer, None if ids is None else list(ids))
        except IndexError:
            return "crash"
        except AttributeError as error:
            raise Refused(f"its setter needs {error.name} of a model that is built elsewhere") from error
        except (TypeError, NameError, ValueError) as error:
            raise Refused(f"its setter fails on a stand-in model: {error}") from error
        return str(sorted(inner.layers_to_capture))

    return run


def inner_class(modules: Mapping[str, Module], path: str, name: str) -> tuple[str, str] | None:
    """(module, class) of what class ``name`` builds as ``self.model``, None where that is unclear.

    Three ways are known: a class named in ``__init__``, one handed to it as ``language_model_cls``, and one
    named by a class attribute.
    """
    for place, node in lineage(modules, path, name):
        for item in node.body:
            if isinstance(item, ast.FunctionDef) and item.name == "__init__":
                built = _default_class(item) or _built_class(item)
                if built is not None and built.startswith("self."):
                    return _class_attribute(place, node, built.removeprefix("self."))
                if built is not None:
                    return place, built
    return None


def _default_class(init: ast.FunctionDef) -> str | None:
    names = [arg.arg for arg in init.args.args]
    for name, default in zip(reversed(names), reversed(init.args.defaults), strict=False):
        if name == "language_model_cls" and isinstance(default, ast.Name):
            return default.id
    return None


def _built_class(init: ast.FunctionDef) -> str | None:
    """``Name`` or ``self.name`` of the call that is assigned to ``self.model``."""
    for node in ast.walk(init):
        if (
            isinstance(node, ast.Assign)
            and ast.unparse(node.targets[0]) == "self.model"
            and isinstance(node.value, ast.Call)
        ):
            return ast.unparse(node.value.func)
    return None


def _class_attribute(path: str, node: ast.ClassDef, name: str) -> tuple[str, str] | None:
    for item in node.body:
        targets = item.targets if isinstance(item, ast.Assign) else []
        if isinstance(item, ast.Assign) and [ast.unparse(one) for one in targets] == [name]:
            module, _, built = ast.unparse(item.value).rpartition(".")
            return (f"srt/models/{module}.py" if module else path), built
    return None


def compile_setter(node: ast.FunctionDef) -> Any:
    """``node`` as a function with no builtins. Raises Refused for anything that is not on the list."""
    plain = ast.FunctionDef(
        name=node.name, args=_bare(node.args), body=node.body, decorator_list=[], lineno=1, col_offset=0
    )
    tree = ast.fix_missing_locations(ast.Module(body=[plain], type_ignores=[]))
    for item in ast.walk(tree):
        _check(item)
    space: dict[str, Any] = {"__builtins__": {}, **_GLOBALS}
    exec(compile(tree, "<setter>", "exec"), space)
    return space[node.name]


def _bare(args: ast.arguments) -> ast.arguments:
    return ast.arguments(
        posonlyargs=[],
        args=[ast.arg(arg=arg.arg) for arg in args.args],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=args.defaults,
    )


def _check(item: ast.AST) -> None:
    if not isinstance(item, _NODES):
        raise Refused(f"{type(item).__name__} in a capture setter")
    if isinstance(item, ast.Attribute) and item.attr.startswith("_"):
        raise Refused(f"attribute {item.attr} in a capture setter")
    if isinstance(item, ast.Constant) and _hidden(item.value):
        raise Refused(f"name {item.value!r} in a capture setter")
    if isinstance(item, ast.Call):
        called = item.func.id if isinstance(item.func, ast.Name) else getattr(item.func, "attr", "?")
        if called not in _CALLS:
            raise Refused(f"call of {called} in a capture setter")


def _hidden(value: object) -> bool:
    return isinstance(value, str) and value.startswith("_") and value != FLAG
