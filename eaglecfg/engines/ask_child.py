"""Runs in the engine's own Python, not in ours: builds its ServerArgs and writes what came of it.

The source text of this file is handed to that Python, which may be older, has no eaglecfg, and finds the
request as JSON on stdin. Whatever the engine prints goes to stderr; stdout gets one line of JSON.
"""

from __future__ import annotations

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
    """``outcome``: absent, values, refused or failed; with ``version``, ``message`` and ``values``."""
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
            values = build(request["argv"])
    except SystemExit:
        lines = said.getvalue().strip().splitlines() or ["the argument parser stops"]
        return {"outcome": "refused", "version": version, "message": _short(lines[-1])}
    except Exception as error:
        outcome = "refused" if refuses(error) else "failed"
        return {"outcome": outcome, "version": version, "message": _named(error)}
    return {"outcome": "values", "version": version, "values": values}


def build(argv: list[str]) -> dict[str, Any]:
    """The engine's own settings for these arguments, resolved as far as it resolves them before a launch."""
    from sglang.srt.server_args import prepare_server_args

    args = prepare_server_args(argv)
    if hasattr(args, "resolve_once"):
        args.resolve_once()
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
    place = frames[-1].filename.replace(os.sep, "/") if frames else ""
    return place.endswith("/srt/server_args.py") or "/srt/arg_groups/" in place


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


def _named(error: Exception) -> str:
    return _short(f"{type(error).__name__}: {error}")


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= LONGEST else plain[:LONGEST] + "..."


if __name__ == "__main__":
    main()
