"""The tables of docs/decode-path.md are what the facts say, and its example is what trace prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from eaglecfg.cli.main import run
from eaglecfg.nccl.custom import custom_row, custom_shot
from eaglecfg.nccl.gpus import gpu_of
from eaglecfg.nccl.latency import off_by
from eaglecfg.nccl.paths import Machine, Message, all_reduce_path, fusion_runs, size_words
from eaglecfg.rules.examples import materialize
from tests.nccl.test_engine_writes import launch

PAGE = Path(__file__).parents[2] / "docs" / "decode-path.md"
KIB = 1 << 10
VERSIONS = ("0.5.9", "0.5.12", "0.5.13", "0.5.14", "0.5.17", "0.5.18", "0.5.21", "0.5.23")
MACHINES = (
    ("2, PCIe", "pcie", "L40S", 2, False),
    ("8, PCIe", "pcie", "L40S", 8, False),
    ("4, NVLink pairs", "nvlink-pair", "A6000", 4, False),
    ("8, NVSwitch", "nvswitch", "H200", 8, False),
    ("8, NVSwitch, class with fusion", "nvswitch", "H200", 8, True),
)
"""Heading, topology, GPU, ranks, whether the engine fuses for the target's class."""

GPUS = ("A100", "H200", "B200")
RANKS = (2, 4, 8)
SHOTS = ("0.5.12", "0.5.17", "0.5.23")
SHORT = {"nccl": "NCCL", "custom": "custom", "fused": "FlashInfer"}


def carriers() -> Iterator[str]:
    """Who carries 56 KiB inside a layer of the target, and beside it where that is another."""
    yield "| version | " + " | ".join(heading for heading, *_ in MACHINES) + " |"
    yield "|---" * (len(MACHINES) + 1) + "|"
    for version in VERSIONS:
        cells = []
        for _, topology, gpu, ranks, automatic in MACHINES:
            now, found = launch(version, tp=ranks), gpu_of(gpu)
            fusion = fusion_runs(now, found, automatic=automatic)
            names = [
                SHORT[
                    all_reduce_path(
                        now, Machine(topology, found), Message(4, 56 * KIB, layer=layer), fusion=fusion
                    ).carrier
                ]
                for layer in (True, False)
            ]
            cells.append(names[0] if names[0] == names[1] else f"{names[0]}; the rest {names[1]}")
        yield f"| {version} | " + " | ".join(cells) + " |"


def shots() -> Iterator[str]:
    """The largest message of one shot, and the largest of all, that the engine's own all-reduce takes."""
    heads = [f"{gpu} x {ranks}" for gpu in GPUS for ranks in RANKS]
    yield "| version | " + " | ".join(heads) + " | at most |"
    yield "|---" * (len(heads) + 2) + "|"
    for version in SHOTS:
        cells, most = [], 0
        for gpu in GPUS:
            for ranks in RANKS:
                now = launch(version, tp=ranks)
                row = custom_row(now, gpu_of(gpu), linked=True)
                assert row is not None
                most = custom_shot(now, row, gpu_of(gpu), 1)[1]
                sizes = range(16 * KIB, most + 1, 16 * KIB)
                one = [size for size in sizes if "one-shot" in custom_shot(now, row, gpu_of(gpu), size)[0]]
                cells.append(size_words(max(one)))
        yield f"| {version} | " + " | ".join(cells) + f" | {size_words(most)} |"


def measured() -> Iterator[str]:
    """The model beside the clock."""
    yield "| protocol | NCCL's model | measured |"
    yield "|---|---|---|"
    for protocol, model, microseconds in off_by():
        yield f"| {protocol} | {model:.1f} µs | {microseconds:.1f} µs |"


@pytest.mark.parametrize("table", [carriers, shots, measured])
def test_the_tables_are_what_the_facts_say(table: Callable[[], Iterator[str]]) -> None:
    wanted = "\n".join(table())
    assert wanted in PAGE.read_text(encoding="utf-8"), f"docs/decode-path.md should hold\n{wanted}"


def test_the_example_is_what_trace_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = {
        "parallel": {"tp_size": 4},
        "hardware": {"gpu": "RTX PRO 6000", "count": 4, "topology": "pcie"},
        "server": {"max_running_requests": 32},
    }
    materialize({"title": "page", "deployment": blocks}, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    assert run(["trace"]) == 0
    out = capsys.readouterr().out
    section = "All-reduce over" + out.split("All-reduce over")[1].split("\n\nIn short")[0]
    assert section in PAGE.read_text(encoding="utf-8"), f"docs/decode-path.md should hold\n{section}"
