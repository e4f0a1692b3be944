"""Names for deployments that are imported."""

from __future__ import annotations

import re
from collections.abc import Iterable

LONGEST = 60


def plain_name(text: str) -> str:
    """``text`` as a name of small letters, digits, - and dots; empty where nothing is left of it."""
    return re.sub(r"[^a-z0-9._]+", "-", text.lower())[:LONGEST].strip("-._")


def name_of_model(path: str) -> str:
    """A name after the model: the last part of its path that says something, or ``server``."""
    if path == "TODO":
        return "server"
    cached = re.search(r"models--[^/]+--([^/]+)", path)
    if cached:
        return plain_name(cached[1])
    parts = [plain_name(part) for part in path.split("/") if not part.startswith("$")]
    useless = {"", "model", "models", "snapshots", "target", "checkpoint", "checkpoints"}
    return (
        next((part for part in reversed(parts) if part not in useless), parts[-1] if parts else "")
        or "server"
    )


def distinct(names: Iterable[str]) -> list[str]:
    """The names in their order, with a number behind those that stood before."""
    out: dict[str, None] = {}
    counts: dict[str, int] = {}
    for name in names:
        candidate = name
        while candidate in out:
            counts[name] = counts.get(name, 1) + 1
            candidate = f"{name}-{counts[name]}"
        out[candidate] = None
    return list(out)
