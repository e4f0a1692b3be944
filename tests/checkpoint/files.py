"""Weight files made by hand, byte by byte."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

from eaglecfg.checkpoint.facts import CheckpointFacts
from eaglecfg.checkpoint.load import read_checkpoint

CONFIG: dict[str, Any] = {"architectures": ["LlamaForCausalLM"], "hidden_size": 8, "num_hidden_layers": 2}


def entry(dtype: str, shape: list[int], begin: int, end: int, **extra: Any) -> dict[str, Any]:
    """One tensor of a header."""
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end], **extra}


def packed(header: str | bytes | dict[str, Any], data: int = 0) -> bytes:
    """A file: length, header (a dictionary or raw text), and ``data`` zero bytes."""
    text = json.dumps(header) if isinstance(header, dict) else header
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(raw)) + raw + b"\0" * data


def folder_with(folder: Path, files: dict[str, bytes], config: dict[str, Any] | None = None) -> Path:
    """A checkpoint folder ``model`` below ``folder``; a config.json is written unless given as a file."""
    model = folder / "model"
    model.mkdir()
    (model / "config.json").write_text(json.dumps(CONFIG if config is None else config))
    for name, content in files.items():
        (model / name).write_bytes(content)
    return model


def read(folder: Path, *, deep: bool = False, target: bool = False) -> CheckpointFacts:
    """The facts of the folder ``model`` below ``folder``, as a draft unless ``target``."""
    return read_checkpoint(folder, "model", role="target" if target else "draft", deep=deep)


def kinds(facts: CheckpointFacts) -> list[str]:
    """Kinds of all problems, in order."""
    return [problem.kind for problem in facts.problems]
