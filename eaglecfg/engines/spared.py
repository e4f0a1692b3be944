"""Which layers a declaration of quantised weights leaves out, as one engine version matches names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from eaglecfg.checkpoint.quantization import Declared
from eaglecfg.engines.table import rows_of

FUSED: Mapping[str, tuple[str, ...]] = {
    "qkv_proj": ("q_proj", "k_proj", "v_proj"),
    "gate_up_proj": ("gate_proj", "up_proj"),
}
"""Joined layers and their parts, in the order in which the engine asks for them."""

ELSEWHERE = ("linear_fp8_config", "packed_modules_mapping")
"""Keys of a block that change how names are matched, in ways that were not read."""


def asked_as(engine: str, version: str, architecture: str, part: str) -> str | None:
    """The name under which the draft class asks about ``part`` of its layer (``self_attn.q_proj``).

    None where that was not read.
    """
    row = rows_of(engine, version, "quantized.json").get("asked_as", {}).get(architecture)
    return row["parts"].get(part) if row is not None else None


def left_out(engine: str, version: str, found: Declared, name: str) -> bool | None:
    """Whether ``found`` leaves out the layer that the engine asks for by ``name``.

    None where this was not read, or where the engine itself stops over it (parts of a joined layer that
    differ, a pattern that is none).
    """
    method = "awq" if found.method == "awq_marlin" else found.method
    row = rows_of(engine, version, "quantized.json").get("spared", {}).get(method)
    if row is None or any(found.block.get(key) for key in ELSEWHERE):
        return None
    key = next((key for key in row["keys"] if key in found.block), None)
    entries = (found.block[key] if key is not None else None) or []
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        return None
    if "mistral3" in str(found.block.get("model_type", "")):
        return None  # some versions rewrite the names of such a block
    entries = _prepared(entries, row["model"])
    last = name.rpartition(".")[2]
    if row["fused"] and last in FUSED:
        said = {_matches(entries, name.replace(last, one), row) for one in FUSED[last]}
        return said.pop() if len(said) == 1 else None
    out = _matches(entries, name, row)
    if method == "fp8" and last == "gate_up_proj":  # asked for in two parts too, by whole names
        out = out or all(name.replace(last, one) in entries for one in FUSED[last])
    return out


def _prepared(entries: Sequence[str], model: str) -> list[str]:
    if model == "removed":
        return [entry.replace("model.", "") for entry in entries]
    if model == "both":
        bare = [entry.removeprefix("model.") for entry in entries]
        return [form for entry in bare for form in (entry, f"model.{entry}")]
    return list(entries)


def _matches(entries: Sequence[str], name: str, row: Mapping[str, Any]) -> bool | None:
    """Whether an entry stands for ``name``; None where the first pattern that decides is none."""
    for entry in entries:
        if row["re"] and entry.startswith("re:"):
            try:
                if re.match(entry.removeprefix("re:"), name):
                    return True
            except re.error:
                return None
        elif _stands_for(entry, name, row["match"]):
            return True
    return False


def _stands_for(entry: str, name: str, match: str) -> bool:
    if match == "substring":
        return entry in name
    if match == "folded":
        return entry.lower() in name.lower()
    if match == "suffix":
        return entry == name or name.endswith(f".{entry}")
    if match.startswith("path"):
        entry = entry.rstrip(".") if match != "path" else entry
        return entry == name or name.startswith(f"{entry}.") or f".{entry}." in f".{name}."
    return entry == name
