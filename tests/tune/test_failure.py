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
        ("python3: No module named sglang", "import"),
        ("[rank1]: ModuleNotFoundError: No module named 'deep_ep'", "import"),
        ("python3: error while loading shared libraries: libnuma.so.1: cannot open", "import"),
        ("RuntimeError: CUDA out of memory while the prefix cache is disabled", "oom"),
        ("x.py: error: argument --a: invalid choice: 'b' (choose from 'ignore', 'skip')", "flag"),
        ("ValueError: topk 2 needs the overlap schedule disabled", "flag"),
        ("ValueError: SGLANG_GRPC_PORT (70657) must be between 1 and 65535", "machine"),
        ("ValueError: dist_init_port at 60890 is not available in 30 seconds.", "machine"),
        ("OSError: [Errno 98] Address already in use", "machine"),
        ("OSError: [Errno 28] No space left on device", "machine"),
        ("RuntimeError: No CUDA GPUs are available", "machine"),
    ],
)
def test_a_line_decides_the_class(line: str, failure: str) -> None:
    found, lines = classify(["INFO starting", line, "INFO bye"], default="crash", starting=True)
    assert found == failure
    assert lines == (line,)


@pytest.mark.parametrize(
    "line",
    [
        "[12:00:01] allreduce fusion is not available (No module named 'cuda.x'), falling back to the other",
        "[12:00:01] Answers API disabled: it can't start (ModuleNotFoundError: No module named 'harmony')",
        "[12:00:01] Ignore import error when loading models.x: ImportError: no kernel",
        "/site/torch/x.py:55: UserWarning: CUDA error: skipped",
        "[12:00:01] server_args=ServerArgs(model_path='/models/out of memory', nccl_port=None)",
        "[12:00:01] WARNING NCCL error in a probe",
        "[12:00:01] Port 30000 is already in use, trying port 30001",
        "[12:00:01] pool of 2 GiB: out of memory, retrying with 1 GiB",
    ],
)
def test_what_a_server_does_without_decides_nothing(line: str) -> None:
    assert classify([line, "ready"], default="startup", alive=True)[0] == "startup"
    found, lines = classify([line, "Fatal Python error: x"], default="crash", starting=True)
    assert (found, lines) == ("crash", ("Fatal Python error: x",))


def test_while_the_server_lives_a_missing_module_counts_only_as_its_last_words() -> None:
    missing = ["Traceback (most recent call last):", "ModuleNotFoundError: No module named 'x'"]
    assert classify(["INFO load", *missing], default="startup", alive=True)[0] == "import"
    later = [f"INFO layer {number}" for number in range(20)]
    assert classify([*missing, *later], default="startup", alive=True)[0] == "startup"
    assert classify([*missing, *later], default="crash")[0] == "import"


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


def test_a_warning_of_nccl_decides_only_an_exit_and_only_alone() -> None:
    assert classify(["NCCL WARN x", "Traceback"], default="crash")[0] == "nccl"
    assert classify(["NCCL WARN x", "Traceback"], default="hang", alive=True)[0] == "hang"
    assert classify(["NCCL WARN x", "CUDA error: y"], default="hang", alive=True)[0] == "cuda"


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
