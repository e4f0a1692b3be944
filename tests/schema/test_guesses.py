"""Which key is written in place of one that nothing knows: slips, and no words that only share letters."""

from __future__ import annotations

from pathlib import Path

import pytest

from eaglecfg.rules.runner import validate
from eaglecfg.source.read import parse_document

FILE = (
    "version: 1\nengine: {name: sglang, version: 0.5.14%(engine)s}\ndeployments:\n  a:\n"
    "    target: {checkpoint: target%(target)s}\n    draft: {checkpoint: draft%(draft)s}\n"
    "    speculative: {num_steps: 2, eagle_topk: 1%(speculative)s}\n    parallel: {pp_size: 1%(parallel)s}\n"
    "    capture: {trained_boundaries: [3, 6, 9]%(capture)s}\n    hardware: {gpu: H100%(hardware)s}\n%(top)s"
)
BLOCKS = ("engine", "target", "draft", "speculative", "parallel", "capture", "hardware", "top")
# fmt: off
STRANGE = [
    "foo", "bar", "baz", "qux", "test", "data", "seed", "host", "batch", "trace",
    "comment", "note", "owner", "team", "info", "text", "key", "mode", "kind", "file",
    "level", "list", "items", "entry", "config", "setting", "extra", "misc", "temp", "flag",
    "world", "url",
]
# fmt: on
SLIPS = {
    ("target", "hiden_size"): "hidden_size",
    ("target", "hidden-size"): "hidden_size",
    ("draft", "hidden-size"): "hidden_size",
    ("draft", "checkpont"): "checkpoint",
    ("draft", "path"): "checkpoint",
    ("draft", "head"): "head_dim",
    ("speculative", "num_step"): "num_steps",
    ("parallel", "tp"): "tp_size",
    ("parallel", "tp_siz"): "tp_size",
    ("capture", "layer_id"): "layer_ids",
    ("hardware", "counts"): "count",
    ("hardware", "memory"): "gpu_memory",
    ("top", "taget"): "target",
    ("top", "serve"): "server",
}  # fmt: skip


def renamed(block: str, key: str) -> str | None:
    given = dict.fromkeys(BLOCKS, "")
    given[block] = f"    {key}: 1\n" if block == "top" else f", {key}: 1"
    report = validate([parse_document(FILE % given, "eaglecfg.yaml", str(Path.cwd()))], select=["EC101"])
    fixes = [found.finding.fix for found in report.findings]
    assert fixes, (block, key)
    return next((fix.text for fix in fixes if fix is not None and fix.kind == "rename"), None)


@pytest.mark.parametrize("block", BLOCKS)
def test_words_that_only_share_letters_are_not_written(block: str) -> None:
    assert {key: new for key in STRANGE if (new := renamed(block, key)) is not None} == {}


@pytest.mark.parametrize(("block", "key", "meant"), [(*slip, meant) for slip, meant in SLIPS.items()])
def test_slips_are(block: str, key: str, meant: str) -> None:
    assert renamed(block, key) == meant
