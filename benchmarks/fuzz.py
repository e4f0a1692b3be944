"""``python -m benchmarks.fuzz``: a million broken files, none of which may break a reader.

Inputs are the files of ``benchmarks/corpus`` after a few small changes, fed to worker processes under a
limit of 512 MiB of address space; one input may take 5 s. An exception, a wrong answer, a message that no
terminal can show, a process that dies: each is printed with the number of its input, and the exit code is 1.
``--target NAME --seed S --only NUMBER`` runs that one input again.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from types import FrameType

from benchmarks.fuzz_targets import TARGETS, emptied, seeded
from benchmarks.mutations import mutated
from benchmarks.process import table

CORPUS = Path(__file__).parent / "corpus"
BAR_MIB, BAR_SECONDS = 512, 5.0
CHUNK = 5_000
MOST_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Chunk:
    """Inputs ``first`` to ``first + count`` of one target."""

    target: str
    seed: int
    first: int
    count: int


@dataclass(slots=True)
class Result:
    """Times in seconds, memory in MiB; ``failures`` are input number, the input and what happened."""

    count: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    slowest_number: int = 0
    peak_mib: float = 0.0
    failures: list[tuple[int, bytes, str]] = field(default_factory=list)

    def add(self, other: Result) -> None:
        self.count += other.count
        self.seconds += other.seconds
        if other.slowest > self.slowest:
            self.slowest, self.slowest_number = other.slowest, other.slowest_number
        self.peak_mib = max(self.peak_mib, other.peak_mib)
        self.failures += other.failures


class TooSlow(BaseException):
    """An input took longer than BAR_SECONDS. No reader may catch it."""


def main() -> int:
    """Run, print the table, return 0 when nothing failed, else 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_050_000, help="of all targets together")
    parser.add_argument("--target", choices=list(TARGETS), help="this one only")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", type=int, metavar="NUMBER", help="one input, with its traceback")
    arguments = parser.parse_args()
    chosen = [arguments.target] if arguments.target else list(TARGETS)
    if arguments.only is not None:
        result = run(Chunk(chosen[0], arguments.seed, arguments.only, 1))
        print(*([f"{data!r}\n{text}" for _, data, text in result.failures] or ["good"]), sep="\n")
        return bool(result.failures)
    shares = sum(TARGETS[name].share for name in chosen)
    chunks = [
        chunk
        for name in chosen
        for chunk in chunks_of(name, arguments.seed, round(arguments.inputs * TARGETS[name].share / shares))
    ]
    started = time.perf_counter()
    results = run_all(chunks, arguments.workers)
    return report(results, time.perf_counter() - started, arguments.seed)


def chunks_of(name: str, seed: int, count: int) -> Iterator[Chunk]:
    size = max(CHUNK // 10, 1) if TARGETS[name].share < 0.05 else CHUNK
    for first in range(0, count, size):
        yield Chunk(name, seed, first, min(size, count - first))


def run_all(chunks: list[Chunk], workers: int) -> dict[str, Result]:
    """Run every chunk in worker processes; a chunk whose process dies is a failure of its own."""
    results = {chunk.target: Result() for chunk in chunks}
    left = chunks
    while left:
        broken: set[Chunk] = set()
        pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=limit)
        with pool:
            waiting = {pool.submit(run, chunk): chunk for chunk in left}
            for done in as_completed(waiting):
                chunk = waiting[done]
                try:
                    results[chunk.target].add(done.result())
                except BrokenProcessPool:
                    broken.add(chunk)
        again = [chunk for chunk in left if chunk in broken]
        if workers == 1 and again == left:  # a single worker takes them in order, so it was the first
            for chunk in again[:1]:
                text = f"the process died in inputs {chunk.first} to {chunk.first + chunk.count}"
                results[chunk.target].failures.append((chunk.first, b"", text))
            again = again[1:]
        left, workers = again, 1 if again else workers
    return results


def limit() -> None:
    """Bounds of a worker: memory as far as the system hands it out, and a low priority."""
    resource.setrlimit(resource.RLIMIT_AS, (BAR_MIB * 1024 * 1024,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(10)


def run(chunk: Chunk) -> Result:
    """Feed one chunk. Exceptions are noted, not raised."""
    target = TARGETS[chunk.target]
    corpus = [path.read_bytes() for name in target.files for path in sorted((CORPUS / name).iterdir())]
    result = Result()
    signal.signal(signal.SIGALRM, _too_slow)
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as temporary:
        folder = Path(temporary)
        if target.prepare is not None:
            target.prepare(folder)
        started = time.perf_counter()
        for number in range(chunk.first, chunk.first + chunk.count):
            data = mutated(seeded(chunk.seed, number), corpus)
            before = time.perf_counter()
            signal.setitimer(signal.ITIMER_REAL, BAR_SECONDS)
            try:
                target.run(data, folder)
            except (Exception, TooSlow):
                result.failures.append((number, data, traceback.format_exc(limit=-4)))
            signal.setitimer(signal.ITIMER_REAL, 0)
            took = time.perf_counter() - before
            if took > result.slowest:
                result.slowest, result.slowest_number = took, number
            if target.fresh:
                emptied(folder)
            if len(result.failures) > MOST_SHOWN:
                break
        result.count = number + 1 - chunk.first
        result.seconds = time.perf_counter() - started
    gc.collect()
    result.peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return result


def _too_slow(number: int, frame: FrameType | None) -> None:
    raise TooSlow(f"more than {BAR_SECONDS:.0f} s")


def report(results: dict[str, Result], seconds: float, seed: int) -> int:
    """Print failures and the table."""
    rows = [["target", "inputs", "failures", "µs each", "slowest ms", "its number", "peak MiB", "bar MiB"]]
    total = Result()
    for name, one in results.items():
        for number, data, text in one.failures[:MOST_SHOWN]:
            print(f"{name} --seed {seed} --only {number}: {data[:300]!r}\n{text}")
        each = one.seconds / max(one.count, 1) * 1e6
        numbers = [f"{one.count:,}", str(len(one.failures)), f"{each:.0f}", f"{one.slowest * 1e3:.0f}"]
        rows.append([name, *numbers, str(one.slowest_number), f"{one.peak_mib:.0f}", str(BAR_MIB)])
        total.add(one)
    rows.append(
        [
            "all",
            f"{total.count:,}",
            str(len(total.failures)),
            "",
            "",
            "",
            f"{total.peak_mib:.0f}",
            str(BAR_MIB),
        ]
    )
    print(table(rows))
    print(f"\n{total.count:,} inputs in {seconds:.0f} s, seed {seed}")
    return 1 if total.failures else 0


if __name__ == "__main__":
    sys.exit(main())
