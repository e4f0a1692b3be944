"""``python -m benchmarks.weights``: ``eaglecfg validate --weights`` on drafts of half a gigabyte, by dtype.

The files are written first, so that they lie in the system's file cache: the bar is on the reading, not on
the disk. A plain run on the same files stands beside it, and what both differ in is what the values cost.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections.abc import Sequence
from math import prod
from pathlib import Path

from benchmarks.checkpoint import COMMON, DRAFT
from benchmarks.process import Run, eaglecfg, median, run, table
from eaglecfg.checkpoint.dtypes import BITS
from eaglecfg.checkpoint.sketch import Tensors, write_checkpoint
from eaglecfg.checkpoint.sketch_shapes import bf16, eagle3_draft

BAR_BYTES_PER_S, BAR_MIB = 1e9, 64.0
LAYERS, VOCABULARY, MIB = 61, 16384, 1 << 20
REPEATS = 3
HIGH = {
    "F64": b"\x3f\xbf",
    "F32": b"\x3c\xbc",
    "BF16": b"\x3c\xbc",
    "F16": b"\x24\xa4",
    "F8_E4M3": b"\x20\xa8",
}
"""dtype -> high bytes of small numbers of either sign."""

CONFIG = """\
version: 1
engine: {name: sglang, version: 0.5.12}
deployments:
  chat:
    target: {checkpoint: target}
    draft: {checkpoint: draft}
    capture: {trained_boundaries: [3, 30, 58]}
    parallel: {tp_size: 1}
    speculative: {algorithm: EAGLE3, num_steps: 2, eagle_topk: 1, num_draft_tokens: 3}
"""
EDGES = {
    "BF16, zero throughout": b"\x00\x00",
    "BF16, NaN throughout": b"\xc0\x7f",
    "BF16, 2e38 in each KiB": b"",
}
"""Drafts of dear values: those that are found, and finite ones whose first byte is that of NaN."""


def main() -> int:
    """Write the drafts, measure, print. 0 when every bar holds, else 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="where to write the drafts (default: a temporary folder)")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        return report(arguments.folder or Path(temporary), arguments.repeats)


def report(folder: Path, repeats: int) -> int:
    """Measure one draft after the other, and print the table."""
    rows = [["draft", "GB", "plain s", "--weights s", "GB/s", "cpu s", "MiB more", "exit", ""]]
    held = True
    for label in (*HIGH, *EDGES):
        size = build(folder, label)
        plain, read = measured(folder, [], repeats), measured(folder, ["--weights"], repeats)
        speed = size / (read.seconds - plain.seconds)
        more = read.peak_mib - plain.peak_mib
        wanted = int("throughout" in label)
        good = speed >= BAR_BYTES_PER_S and more <= BAR_MIB and (plain.code, read.code) == (0, wanted)
        held = held and good
        numbers = [f"{size / 1e9:.2f}", f"{plain.seconds:.2f}", f"{read.seconds:.2f}", f"{speed / 1e9:.1f}"]
        cells = [f"{read.cpu:.2f}", f"{more:.0f}", str(read.code), "ok" if good else "MISSED"]
        rows.append([label, *numbers, *cells])
        if read.code != wanted:
            print(read.output)
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    print(table(rows))
    print(f"\nbars: {BAR_BYTES_PER_S / 1e9:.0f} GB/s and {BAR_MIB:.0f} MiB more; load of the machine {load}")
    return 0 if held else 1


def measured(folder: Path, options: list[str], repeats: int) -> Run:
    """The median of runs with the files in the cache; a first one writes the bytecode."""
    command = eaglecfg("validate", "eaglecfg.yaml", "--select", "EC0,EC8", *options)
    run(command, folder)
    return median([run(command, folder) for _ in range(repeats)])


def build(folder: Path, label: str) -> int:
    """Write the pair with a draft as ``label`` says, and return the bytes of weights that are read of it."""
    dtype = label.partition(",")[0]
    hidden = 2048 if BITS[dtype] > 16 else 4096
    common = {
        **COMMON,
        "hidden_size": hidden,
        "intermediate_size": 2 * hidden,
        "num_attention_heads": hidden // 128,
        "num_key_value_heads": hidden // 128,
        "head_dim": 128,
        "vocab_size": VOCABULARY,
    }
    target = {
        **common,
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "num_hidden_layers": LAYERS,
    }
    draft = {**common, "architectures": DRAFT["architectures"], "model_type": "llama", "num_hidden_layers": 1}
    draft |= {"draft_vocab_size": VOCABULARY, "eagle_config": DRAFT["eagle_config"]}
    tensors = draft_tensors(hidden, dtype)
    values = {name: _data(label, name, dtype, shape) for name, (_, shape) in tensors.items()}
    write_checkpoint(folder / "target", target, target_tensors(hidden))
    write_checkpoint(folder / "draft", draft, tensors, values)
    (folder / "eaglecfg.yaml").write_text(CONFIG, encoding="utf-8")
    return sum(len(data) for data in values.values())


def target_tensors(hidden: int) -> Tensors:
    """A sketch of the target: holes, of which no value is read."""
    whole = {"model.norm.weight": [hidden]}
    whole |= {f"{name}.weight": [VOCABULARY, hidden] for name in ("model.embed_tokens", "lm_head")}
    whole |= {f"model.layers.{layer}.input_layernorm.weight": [hidden] for layer in range(LAYERS)}
    return bf16(whole)


def draft_tensors(hidden: int, dtype: str) -> Tensors:
    """A one-layer EAGLE-3 draft, its matrices in ``dtype``."""
    sizes = {"hidden": hidden, "query": hidden, "key_value": hidden, "intermediate": 2 * hidden}
    draft = eagle3_draft(states=3, **sizes, draft_vocabulary=VOCABULARY)
    return {name: (dtype, shape) for name, shape in draft.items()}


def _data(label: str, name: str, dtype: str, shape: Sequence[int]) -> bytes:
    """Values of one tensor: a MiB of noise again and again."""
    width, count = BITS[dtype] // 8, prod(shape)
    if value := EDGES.get(label, b""):
        return value * count
    noise = random.Random(name)
    piece = bytearray(noise.randbytes(MIB))
    high = bytes(HIGH[dtype][at & 1] for at in range(256))
    piece[width - 1 :: width] = noise.randbytes(MIB // width).translate(high)
    if label in EDGES:
        piece[0::1024], piece[1::1024] = b"\x10" * 1024, b"\x7f" * 1024
    whole, rest = divmod(count * width, MIB)
    return bytes(piece) * whole + bytes(piece[:rest])


if __name__ == "__main__":
    sys.exit(main())
