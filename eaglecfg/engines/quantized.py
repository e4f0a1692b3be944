"""What a quantised linear layer is made of in one engine version."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from eaglecfg.checkpoint.quantization import Declared
from eaglecfg.engines.table import rows_of
from eaglecfg.record import record

HEAD = "lm_head"
"""The prefix under which the draft classes build their head."""


@record
class Parts:
    """The tensors of one quantised layer.

    ``weight`` holds the numbers, ``scales`` stand beside the weight of every part of a joined layer,
    ``inputs`` beside at least one of them. ``unfilled``: what a scale holds that no file fills. ``source`` is
    ``file:line`` in the wheel of ``read_in``.
    """

    kind: str
    weight: str
    scales: tuple[str, ...]
    inputs: tuple[str, ...]
    unfilled: str
    source: str
    read_in: str


def parts_of(engine: str, version: str, found: Declared) -> Parts | None:
    """What the layers that ``found`` declares are made of; None where that was not read."""
    kind, static = _kind(found)
    row = rows_of(engine, version, "quantized.json").get("linear", {}).get(kind)
    if row is None:
        return None
    takes_inputs = static or row["inputs_when"] == "always"
    return Parts(
        kind=kind,
        weight=row["weight"],
        scales=tuple(row["scales"]),
        inputs=tuple(row["inputs"]) if takes_inputs else (),
        unfilled=row["unfilled"],
        source=row["source"],
        read_in=row["read_in"],
    )


def head_is_plain(engine: str, version: str, found: Declared) -> bool | None:
    """Whether a draft that declares ``found`` gets a plain lm_head; None where that was not read."""
    method = "modelopt" if found.method.startswith("modelopt") else found.method
    row = rows_of(engine, version, "quantized.json").get("head", {}).get(method)
    if row is None or row["built"] == "other":
        return None
    return row["built"] == "plain" or not _names_head(found.block)


def _names_head(block: Mapping[str, Any]) -> bool:
    """Whether a target of a compressed-tensors block names lm_head: as it is, by a pattern from its start on,
    or, in a form not known here, perhaps."""
    groups = block.get("config_groups")
    for group in groups.values() if isinstance(groups, dict) else ():
        targets = group.get("targets") if isinstance(group, dict) else None
        for target in targets if isinstance(targets, list) else ():
            if not isinstance(target, str) or target == HEAD:
                return True
            if target.startswith("re:") and _starts(target.removeprefix("re:"), HEAD):
                return True
    return False


def _starts(pattern: str, name: str) -> bool:
    try:
        return re.match(pattern, name) is not None
    except re.error:
        return True


def _kind(found: Declared) -> tuple[str, bool]:
    """(key of the table, whether activations have scales in the files); ("", False) where it is not known."""
    if found.method == "fp8":
        static = found.block.get("activation_scheme") == "static"
        return ("fp8 in blocks" if found.block.get("weight_block_size") else "fp8"), static
    if found.method.startswith("modelopt"):
        return ("modelopt fp8" if found.algorithm == "FP8" else ""), False
    if found.method in ("awq", "awq_marlin"):
        return "awq", False
    if found.method in ("gptq", "gptq_marlin"):
        return "gptq", False
    return _compressed(found.block) if found.method == "compressed-tensors" else ("", False)


def _compressed(block: Mapping[str, Any]) -> tuple[str, bool]:
    """Likewise of a compressed-tensors block with one group for all linear layers."""
    groups = block.get("config_groups")
    group = next(iter(groups.values())) if isinstance(groups, dict) and len(groups) == 1 else None
    if not isinstance(group, dict) or group.get("targets") != ["Linear"]:
        return "", False
    weights, inputs = group.get("weights"), group.get("input_activations")
    if not isinstance(weights, dict):
        return "", False
    size, form = weights.get("num_bits"), weights.get("type")
    static = isinstance(inputs, dict) and not inputs.get("dynamic")
    if form == "float" and size == 8:
        return "compressed-tensors float", static
    if form == "int" and size == 8 and isinstance(inputs, dict):
        return "compressed-tensors int", static
    packed = (group.get("format") or block.get("format")) == "pack-quantized"
    return ("compressed-tensors packed" if form == "int" and packed and inputs is None else ""), False
