"""YAML that holds settings of a launch and no launch: the values of a Helm chart, a config of eaglecfg."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from eaglecfg.errors import UsageError
from eaglecfg.review.imports.yaml_source import read_parts

RENDER_THE_CHART = "render the chart first: helm template ... | eaglecfg import -"
_ROW = re.compile(r"(?:[A-Za-z_][\w./-]*|\"[^\"\n]*\"|'[^'\n]*')[ ]*:(?:[ \t\r]|\Z)")
_GOES_ON = re.compile(r"[ \t\r#\]}-]|---|\Z")
_ENGINE = re.compile(
    r"(?:.*[/\s])?sglang(?:[:@].*)?|lmsysorg/.*|.*\bsglang(?:\.launch_server|\.srt\.|\s+serve)\b.*"
    r"|--(?:model-path|model|tp|tp-size|tensor-parallel-size|mem-fraction-static|speculative-[a-z-]+)"
    r"(?:[= ].*)?",
    re.S,
)
_OF_A_CHART = frozenset(("image", "repository", "replicaCount", "args", "extraArgs", "command"))
_OF_OTHERS = frozenset(("apiVersion", "run", "script", "jobs", "stages", "setup", "steps", "deployments"))
MOST_SCALARS = 20_000


def refuse_values(text: str) -> None:
    """Raises UsageError for YAML of which others make a launch; nothing else is refused."""
    rows = text.removeprefix("\ufeff").split("\n")
    if not all(_ROW.match(row) or _GOES_ON.match(row) for row in rows):
        return
    try:
        parts = [part.data for part in read_parts(text, "")]
    except (UsageError, RecursionError):
        return
    if any(isinstance(data.get("deployments"), dict) and "engine" in data for data in parts):
        raise UsageError("this is a config of eaglecfg already: eaglecfg render makes a launch of it")
    if parts and all(_are_values(data) for data in parts):
        what = "this looks like the values of a Helm chart, of which only the chart makes a launch"
        raise UsageError(f"{what}; {RENDER_THE_CHART}")


def _are_values(data: Mapping[str, Any]) -> bool:
    if _OF_OTHERS & set(data) or isinstance(data.get("services"), dict):
        return False
    keys, engine = set(), False
    for count, (key, value) in enumerate(_scalars(data)):
        keys.add(key)
        engine = engine or (isinstance(value, str) and _ENGINE.fullmatch(value) is not None)
        if count > MOST_SCALARS:
            break
    return engine and bool(_OF_A_CHART & (keys | set(data)))


def _scalars(data: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """(the nearest key above it, scalar) of everything in ``data``."""
    stack: list[tuple[str, Any]] = list(data.items())
    while stack:
        key, value = stack.pop()
        if isinstance(value, dict):
            stack += [(str(inner), item) for inner, item in value.items()]
        elif isinstance(value, list):
            stack += [(key, item) for item in value]
        else:
            yield key, value
