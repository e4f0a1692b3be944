"""Reads the server flags of an unpacked SGLang wheel with ``ast``. Maintenance only, like ``wheel``.

Three layouts exist: ``parser.add_argument`` calls beside a dataclass (to 0.5.13), annotated dataclass fields
``name: A[type, Arg(...)]`` (0.5.14 to 0.5.19), and the same fields spread over ``arg_groups/fields`` (from
0.5.20). A few flags are registered by hand in every layout, most of them deprecated spellings.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from eaglecfg.engines.flags import UNREADABLE, FlagFact
from eaglecfg.engines.wheel import parse

_LISTS = ("List", "list", "Tuple", "tuple")
_SCALARS = {"str": "str", "int": "int", "float": "float", "bool": "bool"}


def read_flags(package: Path) -> dict[str, FlagFact]:
    """Every flag of the wheel's ``sglang`` folder, by field name. Raises OSError, SyntaxError."""
    main = package / "srt" / "server_args.py"
    groups = package / "srt" / "arg_groups"
    files = [main, *sorted((groups / "fields").glob("*.py")), *sorted(groups.glob("*.py"))]
    trees = {file.relative_to(package).as_posix(): parse(file) for file in files if file.exists()}
    constants = _constants(trees.values())
    defaults: dict[str, Any] = {}
    flags: dict[str, FlagFact] = {}
    hidden: set[str] = set()
    for path, tree in trees.items():
        for node in _record_classes(tree, fields="/fields/" in path):
            for item in node.body:
                if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                    name = item.target.id
                    defaults[name] = None if item.value is None else _value(item.value, constants)
                    flag = _annotated(name, item, f"{path}:{item.lineno}", defaults[name], constants)
                    if flag is not None:
                        flags[name] = flag
                    else:
                        hidden.add(name)
    for path, tree in trees.items():
        for call in _calls(tree):
            flag = _argument(call, f"{path}:{call.lineno}", defaults, constants)
            if flag is not None and flag.name not in flags:
                flags[flag.name] = flag
    return dict(sorted(flags.items()))


def _record_classes(tree: ast.Module, *, fields: bool) -> Iterator[ast.ClassDef]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and (fields or node.name == "ServerArgs"):
            yield node


def _constants(trees: Any) -> dict[str, Any]:
    """Module-level names bound to plain literals, for choices and defaults that are spelled by name."""
    found: dict[str, Any] = {}
    for tree in trees:
        for node in tree.body:
            if (
                isinstance(node, ast.Assign)
                and len(node.targets) == 1
                and isinstance(node.targets[0], ast.Name)
            ):
                value = _value(node.value, found)
                if value != UNREADABLE:
                    found[node.targets[0].id] = value
            elif (
                isinstance(node, ast.AnnAssign)
                and isinstance(node.target, ast.Name)
                and node.value is not None
            ):
                value = _value(node.value, found)
                if value != UNREADABLE:
                    found[node.target.id] = value
        _grow(tree, found)
    return found


def _grow(tree: ast.Module, found: dict[str, Any]) -> None:
    """Sets of names, which some modules extend afterwards on a condition: with everything that may be in."""
    grown: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Set) and node in tree.body:
            names = _value(node.value, {})
            if isinstance(names, set) and isinstance(node.targets[0], ast.Name):
                grown[node.targets[0].id] = names
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add":
            name = ast.unparse(node.func.value)
            if name in grown and isinstance(node.args[0], ast.Constant):
                grown[name].add(str(node.args[0].value))
    found.update({name: sorted(map(str, names)) for name, names in grown.items()})


def _value(node: ast.expr, constants: Mapping[str, Any]) -> Any:
    """The literal that ``node`` spells, names resolved; UNREADABLE where code would have to run."""
    if isinstance(node, ast.Name):
        return constants.get(node.id, UNREADABLE)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "field":
        for keyword in node.keywords:
            if keyword.arg == "default":
                return _value(keyword.value, constants)
        return UNREADABLE
    if isinstance(node, (ast.List, ast.Tuple)):
        items = [
            part
            for item in node.elts
            for part in (
                _as_list(_value(item.value, constants))
                if isinstance(item, ast.Starred)
                else [_value(item, constants)]
            )
        ]
        return UNREADABLE if UNREADABLE in items else items
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _value(node.left, constants), _value(node.right, constants)
        return left + right if isinstance(left, list) and isinstance(right, list) else UNREADABLE
    try:
        return ast.literal_eval(node)
    except ValueError:
        return UNREADABLE


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [UNREADABLE]


def _annotated(
    name: str, item: ast.AnnAssign, source: str, default: Any, constants: Mapping[str, Any]
) -> FlagFact | None:
    """The flag of a field ``name: A[type, Arg(...)]``; None: plain, or kept off the command line."""
    note = item.annotation
    if not (isinstance(note, ast.Subscript) and isinstance(note.value, ast.Name) and note.value.id == "A"):
        return None
    parts = note.slice.elts if isinstance(note.slice, ast.Tuple) else [note.slice]
    keywords: dict[str, ast.expr] = {}
    marked = False
    for part in parts[1:]:
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "Arg":
            keywords = {keyword.arg: keyword.value for keyword in part.keywords if keyword.arg}
            marked = True
        elif isinstance(part, (ast.Constant, ast.JoinedStr, ast.BinOp)):
            marked = True
    if not marked or _value(keywords.get("no_cli", ast.Constant(False)), constants) is True:
        return None
    kind, literals = _type(parts[0])
    parser = keywords.get("type_parser")
    if isinstance(parser, ast.Name) and "json" in parser.id:
        kind = "json"
    if _nargs(keywords):
        kind = "list"
    choices = _value(keywords["choices"], constants) if "choices" in keywords else literals
    spelled = _value(keywords["cli_name"], constants) if "cli_name" in keywords else "--" + name
    names = (
        [spelled, *_as_list(_value(keywords["aliases"], constants))] if "aliases" in keywords else [spelled]
    )
    return FlagFact(
        name,
        kind,
        default,
        _choices(choices),
        _others(name, names),
        source,
        option=_option(name, names),
        items=_element(parts[0]) + (_nargs(keywords) or "+") if kind == "list" else "",
    )


def _element(node: ast.expr) -> str:
    """The kind of one word of a list field: of ``Optional[List[int]]`` int, of ``List[str] | None`` str."""
    for part in ast.walk(node):
        if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name) and part.value.id in _LISTS:
            kind = _type(part.slice.elts[0] if isinstance(part.slice, ast.Tuple) else part.slice)[0]
            return kind if kind in ("int", "float") else "str"
    return "str"


def _nargs(keywords: Mapping[str, ast.expr]) -> str:
    """``*`` or ``+`` for an option of any number of words, whatever the field's type is; else empty."""
    found = [keywords["nargs"]] if "nargs" in keywords else []
    inside = keywords.get("action_kwargs")
    if isinstance(inside, ast.Dict):
        pairs = zip(inside.keys, inside.values, strict=True)
        found += [value for key, value in pairs if isinstance(key, ast.Constant) and key.value == "nargs"]
    said = [node.value for node in found if isinstance(node, ast.Constant)]
    return next((str(value) for value in said if value in ("*", "+")), "")


def _type(node: ast.expr) -> tuple[str, list[Any] | None]:
    """(kind, choices of a Literal) of an annotation such as ``Optional[Literal["a", "b"]]``."""
    if isinstance(node, ast.BinOp):
        return _type(node.left)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _type(ast.parse(node.value, mode="eval").body)
    if isinstance(node, ast.Name):
        return _SCALARS.get(node.id, {"dict": "json", "list": "list"}.get(node.id, "str")), None
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        outer = node.value.id
        if outer == "Optional":
            return _type(node.slice)
        if outer == "Union":
            return _type(node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice)
        if outer == "Literal":
            values = (
                _as_list(_value(node.slice, {}))
                if isinstance(node.slice, ast.Tuple)
                else [_value(node.slice, {})]
            )
            return type(values[0]).__name__, values
        if outer in _LISTS:
            return "list", None
        if outer in ("Dict", "dict"):
            return "json", None
    return "str", None


def _calls(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "add_argument"
        ):
            yield node


def _argument(
    call: ast.Call, source: str, defaults: Mapping[str, Any], constants: Mapping[str, Any]
) -> FlagFact | None:
    """The flag of a ``parser.add_argument`` call, None where its names are computed."""
    names = [_value(arg, constants) for arg in call.args if not isinstance(arg, ast.Starred)]
    longs = [name for name in names if isinstance(name, str) and name.startswith("--")]
    if not longs:
        return None
    keywords = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    spelled = [_field(name) for name in longs]
    dest = _value(keywords["dest"], constants) if "dest" in keywords else spelled[0]
    deprecated = _deprecation(keywords, constants)
    # A deprecated spelling with its own dest stays a flag of its own: it is what the user typed.
    known = [] if deprecated else [name for name in [dest, *spelled] if name in defaults]
    name = known[0] if known else spelled[0]
    kind = _argument_type(keywords)
    default = defaults.get(name)
    given = keywords.get("default")
    if isinstance(given, ast.Attribute):
        default = defaults.get(given.attr)
    elif isinstance(given, ast.Call) and ast.unparse(given.func).endswith("declared_default"):
        default = defaults.get(_value(given.args[0], constants))
    elif given is not None:
        default = _value(given, constants)
    if kind == "bool" and default is None:
        default = False
    choices = _value(keywords["choices"], constants) if "choices" in keywords else None
    return FlagFact(
        name,
        kind,
        default,
        _choices(choices),
        _others(name, longs),
        source,
        deprecated,
        _option(name, longs),
        _scalar(keywords) + _nargs(keywords) if kind == "list" else "",
    )


def _argument_type(keywords: Mapping[str, ast.expr]) -> str:
    action = keywords.get("action")
    spelled = ast.unparse(action).strip("'\"") if action is not None else ""
    if spelled in ("store_true", "store_false") or "StoreTrue" in spelled or "BooleanOptional" in spelled:
        return "bool"
    return "list" if _nargs(keywords) else _scalar(keywords)


def _scalar(keywords: Mapping[str, ast.expr]) -> str:
    """The kind of one word of an option."""
    kind = ast.unparse(keywords["type"]) if "type" in keywords else "str"
    if "json" in kind:
        return "json"
    return "int" if kind == "human_readable_int" else _SCALARS.get(kind, "str")


def _deprecation(keywords: Mapping[str, ast.expr], constants: Mapping[str, Any]) -> str:
    """What the wheel says to use instead, empty for a flag that is not deprecated."""
    if "new_flag" in keywords:
        value = _value(keywords["new_flag"], constants)
        return value if isinstance(value, str) else "another flag"
    action = keywords.get("action")
    if action is not None and "Deprecated" in ast.unparse(action):
        return "another flag"
    help_text = keywords.get("help")
    text = _value(help_text, constants) if help_text is not None else ""
    if isinstance(text, str) and text.lstrip("([ ").lower().startswith("deprecated"):
        return "another flag"
    return ""


def _choices(values: Any) -> tuple[str, ...] | None:
    if not isinstance(values, list):
        return None
    return tuple(str(value) for value in values if value is not None)


def _field(name: str) -> str:
    return name.lstrip("-").replace("-", "_")


def _option(name: str, spelled: list[Any]) -> str:
    """The spelling to use where the field's own name is not among them."""
    return "" if name in map(_field, map(str, spelled)) else str(spelled[0])


def _others(name: str, spelled: list[Any]) -> tuple[str, ...]:
    fields = [_field(other) for other in spelled if isinstance(other, str) and other.startswith("--")]
    return tuple(dict.fromkeys(other for other in fields if other != name))
