"""Why a launch failed, from its exit status and its log.

The table is read from top to bottom and the first class with a matching line wins: causes stand above what
they bring about (a port that is taken also ends in a traceback; running out of memory also ends in a CUDA
error).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from eaglecfg.source.secrets import redact_text
from eaglecfg.tune.trial import FailureClass

EXCEPTION = r"^(?:\[rank\d+\]:\s*)?(?:\w+\.)*"
"""Where an exception that nobody caught begins: at the start of its line, or after torch's mark of the rank.
An exception in the middle of a line is one that was caught and told of."""

SIGNS: tuple[tuple[FailureClass, str], ...] = (
    ("machine", r"address already in use|EADDRINUSE|Errno 98\b|ValueError: Port is already in use"),
    ("machine", r" at \d+ is not available in \d+ seconds|must be between 1 and 65535|invalid port number"),
    ("machine", r"No space left on device|Disk quota exceeded|Errno 28\b"),
    (
        "machine",
        r"Too many open files|Resource temporarily unavailable.*(fork|thread)|can't start new thread",
    ),
    (
        "machine",
        r"CUDA_ERROR_SYSTEM_NOT_READY|fabric manager|Unable to determine the device handle|GPU is lost",
    ),
    ("machine", r"CUDA-capable device\(s\) is/are busy|No CUDA GPUs are available"),
    (
        "flag",
        r"error: (unrecognized arguments|argument |ambiguous option|the following arguments are required)",
    ),
    ("import", EXCEPTION + r"(ModuleNotFoundError|ImportError): "),
    ("import", EXCEPTION + r"\w+: .*(undefined symbol: |cannot open shared object file)"),
    ("import", r"^\S*python[\d.]*: (No module named |Error while finding module )"),
    ("import", r"error while loading shared libraries: |symbol lookup error: "),
    ("oom", r"out of memory|OutOfMemoryError|OOM\b.*(kill|error)|Cannot allocate memory|std::bad_alloc"),
    ("oom", EXCEPTION + r"MemoryError"),
    (
        "oom",
        r"Not enough memory|mem[-_]fraction[-_]static.{0,60}(increas|too small)|CUBLAS_STATUS_ALLOC_FAILED",
    ),
    ("nccl", r"NCCL error|nccl(System|Internal|Remote|UnhandledCuda)Error|ncclInvalid(Usage|Argument)"),
    ("nccl", r"NCCL watchdog|collective operation timeout|ProcessGroupNCCL.*(abort|terminat)"),
    ("cuda", r"CUDA error: |cudaError|CUDA driver error|illegal memory access|device-side assert"),
    ("cuda", r"CUBLAS_STATUS_|NVRM: Xid"),
    ("cuda", r"no kernel image is available|CUDA kernel errors might be asynchronously reported"),
)
"""Class and what its lines look like, causes first."""

WHILE_STARTING: tuple[tuple[FailureClass, str], ...] = (
    ("flag", EXCEPTION + r"(ValueError|AssertionError|NotImplementedError)(: |$)"),
)
"""Holds for an exit during start-up alone, where an engine refuses a setting with a plain exception; later
the same exception is a crash."""

WEAK: tuple[tuple[FailureClass, str], ...] = (("nccl", r"NCCL WARN "),)
"""Lines that healthy servers write as well; they decide an exit, when nothing else does."""

BENIGN = re.compile(
    r"\bfall(s|ing|en)?[ -]?back\b|\bdisabled\b|\bskip(s|ped|ping)?\b|\bignor(e|es|ed|ing)\b|\bretry(ing)?\b"
    r"|\btrying port\b|\bWARNING\b|Warning: |\bServerArgs\(",
    re.IGNORECASE,
)
"""A line that tells of something it does without, or that repeats the arguments, decides nothing; unless it
is itself an uncaught exception or the refusal of an argument, whose text may hold any word."""

UNCAUGHT = re.compile(EXCEPTION + r"\w*(Error|Exception)(: |$)|^[\w./-]+( -m [\w.]+)?: error: ")

LAST_WORDS = 15
"""While the server lives, a refusal or a missing module counts only among this many last lines: what came
before them was survived."""

Verdict = tuple[FailureClass, tuple[str, ...]]

LAST_LINES = 4000
"""How much of the end of a log is read: enough for eight ranks' tracebacks."""
SHOWN_LINES = 6
ENDS = re.compile(r"Traceback|Error|error:|Exception|Fatal|Killed|Segmentation fault|Aborted|core dumped")


def read_tail(log: Path) -> list[str]:
    """The last lines of a log; empty when there is none."""
    try:
        with log.open("rb") as stream:
            stream.seek(0, 2)
            size = stream.tell()
            stream.seek(max(0, size - 2_000_000))
            text = stream.read().decode(errors="replace")
    except OSError:
        return []
    return text.splitlines()[-LAST_LINES:]


def classify(
    lines: Sequence[str], *, default: FailureClass, starting: bool = False, alive: bool = False
) -> Verdict:
    """The class of a failure and the lines that decided it.

    ``starting``: the server exited before it had answered. ``alive``: it did not exit at all. ``default`` is
    the class when no line decides; its lines are then the last ones that look like an error, or just the last
    ones.
    """
    telling = [line for line in lines if UNCAUGHT.search(line) or not BENIGN.search(line)]
    for failure, pattern in (*SIGNS, *(WHILE_STARTING if starting else ()), *(() if alive else WEAK)):
        expression = re.compile(pattern, re.IGNORECASE if failure in ("machine", "oom") else 0)
        survived = alive and failure in ("flag", "import")
        found = [line for line in (telling[-LAST_WORDS:] if survived else telling) if expression.search(line)]
        if found:
            return failure, shown(found)
    return default, shown(
        [line for line in telling if ENDS.search(line)] or [line for line in lines if line.strip()]
    )


def shown(lines: Iterable[str]) -> tuple[str, ...]:
    """The last few different lines, secrets and length cut."""
    different = list(dict.fromkeys(redact_text(line.strip())[:400] for line in lines if line.strip()))
    return tuple(different[-SHOWN_LINES:])


def exit_words(code: int | None, number: int | None) -> str:
    """``exit status 3`` or ``signal 9``."""
    return f"signal {number}" if number is not None else f"exit status {code}"
