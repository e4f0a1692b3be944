"""Runs in the engine's own Python, not in ours: builds its ServerArgs and writes what came of it.

The source text of this file is handed to that Python, which may be older, has no eaglecfg, and finds the
request as JSON on stdin. Whatever the engine prints goes to stderr; stdout gets one line of JSON.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
import traceback
from typing import Any

REFUSALS = (ValueError, AssertionError, NotImplementedError, TypeError)
SECRETS = ("api_key", "password", "watermark_key", "ssl_keyfile_password")
LONGEST = 2000
"""Characters of one value or message; a longer value is left out."""


def main() -> None:
    """Answer the request on stdin."""
    request = json.load(sys.stdin)
    answer = os.dup(1)
    os.dup2(2, 1)
    # ``-c`` puts the current folder first, and a config may well lie beside a folder named like a package.
    sys.path[:] = [path for path in sys.path if path]
    reply = reply_to(request)
    os.write(answer, json.dumps(reply).encode())
    os.close(answer)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # threads and hooks that the engine has started have nothing left to do


def reply_to(request: dict[str, Any]) -> dict[str, Any]:
    """``outcome``: absent, values, refused or failed; ``version``, ``message`` and ``values``. ``about``:
    the names in the conditions that a refusal stands under. ``unchecked``: why the engine's own check of its
    arguments came to no end."""
    try:
        import sglang  # noqa: F401 - the engine itself
    except ImportError as error:
        return {"outcome": "absent", "message": _short(str(error))}
    except Exception as error:
        return {"outcome": "failed", "message": _named(error)}
    version = _version()
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            args = resolve(request["argv"])
            values = values_of(args)
    except SystemExit:
        lines = said.getvalue().strip().splitlines() or ["the argument parser stops"]
        return {"outcome": "refused", "version": version, "message": _short(lines[-1])}
    except Exception as error:
        return _stopped(error, version)
    reply = {"outcome": "values", "version": version, "values": values}
    try:
        # Every launch calls it, only later: it makes no settings, it stops at some.
        getattr(args, "check_server_args", bool)()
    except (Exception, SystemExit) as error:
        if isinstance(error, Exception) and refuses(error):
            return _stopped(error, version)
        reply["unchecked"] = _named(error)
    return reply


def _stopped(error: Exception, version: str) -> dict[str, Any]:
    if not refuses(error):
        return {"outcome": "failed", "version": version, "message": _named(error)}
    return {"outcome": "refused", "version": version, "message": _named(error), "about": about(error)}


def resolve(argv: list[str]) -> Any:
    """The engine's own arguments, resolved as far as it resolves them before a launch."""
    from sglang.srt.server_args import prepare_server_args

    args = prepare_server_args(argv)
    if hasattr(args, "resolve_once"):
        args.resolve_once()
    return args


def values_of(args: Any) -> dict[str, Any]:
    """The settings in ``args`` that can be told."""
    if hasattr(args, "resolved_dict"):
        found = args.resolved_dict()
    else:
        view = _view(args)
        found = {name: getattr(view, name, value) for name, value in vars(args).items()}
    return {name: value for name, value in found.items() if _tellable(name, value)}


def _view(args: Any) -> Any:
    """What the engine itself reads settings through, where this version has such a thing."""
    try:
        from sglang.srt.arg_groups.overrides import resolved_view
    except ImportError:
        return args
    return resolved_view(args)


def refuses(error: Exception) -> bool:
    """Whether it is the engine's argument handling that objects, and not a library or the machine."""
    if not isinstance(error, REFUSALS):
        return False
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and _handles_arguments(frames[-1].filename)


def _handles_arguments(file: str) -> bool:
    place = file.replace(os.sep, "/")
    return place.endswith("/srt/server_args.py") or "/srt/arg_groups/" in place


def about(error: Exception) -> list[str]:
    """The names in the conditions of the engine's code that led to ``error``, none where it is unreadable."""
    found: set[str] = set()
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.lineno is None or not _handles_arguments(frame.filename):
            continue
        try:
            with open(frame.filename, encoding="utf-8") as stream:  # noqa: PTH123 - one import less
                tree = ast.parse(stream.read())
        except (OSError, ValueError, SyntaxError, RecursionError):
            return []
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and _around(node, frame.lineno):
                for test in _conditions(node, frame.lineno):
                    found |= {one.id for one in ast.walk(test) if isinstance(one, ast.Name)}
                    found |= {one.attr for one in ast.walk(test) if isinstance(one, ast.Attribute)}
    return sorted(found)


def _around(node: ast.AST, line: int) -> bool:
    end = getattr(node, "end_lineno", None)
    return end is not None and getattr(node, "lineno", line) <= line <= end


def _conditions(function: ast.FunctionDef, line: int) -> list[ast.expr]:
    """What is asked on the way to ``line``: around it, and before it where an answer leaves the function."""
    tests = []
    for node in ast.walk(function):
        if isinstance(node, (ast.If, ast.Assert)):
            leaves = isinstance(node, ast.If) and isinstance(node.body[-1], ast.Return) and node.lineno < line
            if leaves or _around(node, line):
                tests.append(node.test)
    return tests


def _version() -> str:
    import sglang

    version = getattr(sglang, "__version__", None)
    if isinstance(version, str):
        return version
    from importlib import metadata

    try:
        return metadata.version("sglang")
    except metadata.PackageNotFoundError:
        return ""


def _tellable(name: str, value: Any) -> bool:
    if name.startswith("_") or name.endswith(SECRETS):
        return False
    try:
        return len(json.dumps(value)) <= LONGEST
    except (TypeError, ValueError, RecursionError):
        return False


def _named(error: BaseException) -> str:
    return _short(f"{type(error).__name__}: {error}")


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= LONGEST else plain[:LONGEST] + "..."


if __name__ == "__main__":
    main()
