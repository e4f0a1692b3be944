"""Failure classes from log lines as engines write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from eaglecfg.tune.failure import classify, read_tail, shown


@pytest.mark.parametrize(
    ("line", "failure"),
    [
        ("launch_server.py: error: argument --tp-size: invalid int value: 'x'", "flag"),
        ("launch_server.py: error: ambiguous option: --cuda-graph-max-bs could match", "flag"),
        ("AssertionError: tp_size must be divisible by 4", "flag"),
        ("ImportError: cannot import name 'x' from 'flashinfer'", "import"),
        ("OSError: libnccl.so.2: cannot open shared object file: No such file or directory", "import"),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "oom"),
        ("RuntimeError: CUDA error: out of memory", "oom"),
        ("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.", "oom"),
        ("ncclUnhandledCudaError: Call to CUDA function failed.", "nccl"),
        ("[rank0]:[E] ProcessGroupNCCL.cpp: process group watchdog thread terminated with exception", "nccl"),
        ("RuntimeError: CUDA error: an illegal memory access was encountered", "cuda"),
        ("OSError: [Errno 98] Address already in use", "machine"),
        ("OSError: [Errno 28] No space left on device", "machine"),
        ("RuntimeError: No CUDA GPUs are available", "machine"),
    ],
)
def test_a_line_decides_the_class(line: str, failure: str) -> None:
    found, lines = classify(["INFO starting", line, "INFO bye"], default="crash", starting=True)
    assert found == failure
    assert lines == (line,)


def test_a_cause_wins_over_what_it_brings_about() -> None:
    log = [
        "NCCL WARN something",
        "torch.OutOfMemoryError: CUDA out of memory.",
        "RuntimeError: CUDA error: unspecified launch failure",
        "ValueError: x",
    ]
    assert classify(log, default="crash", starting=True)[0] == "oom"


def test_a_plain_exception_refuses_a_setting_only_while_starting() -> None:
    log = ["Traceback (most recent call last):", "ValueError: no such backend"]
    assert classify(log, default="crash", starting=True)[0] == "flag"
    assert classify(log, default="crash", starting=False) == ("crash", tuple(log))


def test_a_warning_of_nccl_decides_only_alone() -> None:
    assert classify(["NCCL WARN x", "Traceback"], default="hang")[0] == "nccl"
    assert classify(["NCCL WARN x", "CUDA error: y"], default="hang")[0] == "cuda"


def test_a_log_that_says_nothing_gives_the_default_and_its_last_lines() -> None:
    assert classify([f"line {n}" for n in range(50)], default="hang") == (
        "hang",
        tuple(f"line {n}" for n in range(44, 50)),
    )
    assert classify([], default="crash") == ("crash", ())


def test_lines_are_shown_once_short_and_without_secrets() -> None:
    lines = shown(["a", "a", "token hf_abcdefghijklmnopqrstuvwxyz", "x" * 1000, ""])
    assert lines == ("a", "token <redacted>", "x" * 400)


def test_only_the_end_of_a_huge_log_is_read(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(b"CUDA out of memory\n" + b"fine \xff\n" * 500_000)
    lines = read_tail(log)
    assert len(lines) == 4000
    assert classify(lines, default="crash")[0] == "crash"
    assert read_tail(tmp_path / "none") == []
