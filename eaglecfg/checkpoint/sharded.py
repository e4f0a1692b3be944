"""A set of safetensors files as one checkpoint: whether they are all there, and whether they agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from eaglecfg.checkpoint.facts import FileProblem, TensorFact
from eaglecfg.checkpoint.fault import FileFault, legible, listed
from eaglecfg.checkpoint.header import Peek, finish_header, peek_header
from eaglecfg.checkpoint.index import Index
from eaglecfg.checkpoint.limits import (
    MAX_HEADER_BYTES,
    MAX_HEADER_BYTES_TOTAL,
    READ_THREADS,
    THREADS_FROM,
)
from eaglecfg.checkpoint.regular import stat_file
from eaglecfg.checkpoint.safetensors import Header, parse_header

BATCH = 64
"""Files whose first bytes are held at a time: 8 MiB."""

Read = TypeVar("Read")


@dataclass(slots=True)
class Shards:
    """What the opened files say: ``headers`` by file name, and ``sizes`` in bytes of all that are there."""

    folder: str
    shown: str
    headers: dict[str, Header] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    problems: list[FileProblem] = field(default_factory=list)

    def path(self, file: str) -> str:
        return f"{self.folder}/{file}"

    def shown_path(self, file: str) -> str:
        return f"{self.shown}/{legible(file)}"


def stat_all(shards: Shards, files: Sequence[str], index: Index | None) -> None:
    """Note the size of every file, and a problem for every one that is not there."""

    def size(file: str) -> int:
        return stat_file(shards.path(file), shards.shown_path(file)).st_size

    counts = Counter(index.weight_map.values()) if index is not None else Counter[str]()
    for file, outcome in zip(files, _each(size, files), strict=True):
        if isinstance(outcome, FileFault):
            shards.problems.append(_missing(shards, outcome.problem, file, index, counts[file]))
        else:
            shards.sizes[file] = outcome
            if outcome == 0:
                message = f"{shards.shown_path(file)} is empty"
                shards.problems.append(
                    FileProblem(
                        "truncated", shards.shown_path(file), message, "download the file again", True
                    )
                )


def _missing(shards: Shards, problem: FileProblem, file: str, index: Index | None, count: int) -> FileProblem:
    if problem.kind != "missing-file" or index is None:
        return problem
    tensors = f"{count:,} tensor" + "s" * (count != 1)
    if "symlink" in problem.message:
        message = problem.message
    else:
        message = f"{index.shown} puts {tensors} into {legible(file)}, which is not there"
    help = "download the file, or the whole checkpoint again"
    return FileProblem("missing-shard", shards.shown_path(file), message, help, True, legible(file), "absent")


def open_all(shards: Shards, files: Sequence[str], most: int) -> None:
    """Read and check the headers of ``files``, of at most ``most`` tensors and MAX_HEADER_BYTES_TOTAL."""
    budget, tensors = MAX_HEADER_BYTES_TOTAL, most

    def peek(file: str) -> Peek:
        return peek_header(shards.path(file), shards.shown_path(file))

    for start in range(0, len(files), BATCH):
        batch = files[start : start + BATCH]
        for file, outcome in zip(batch, _each(peek, batch), strict=True):
            if isinstance(outcome, FileFault):
                shards.problems.append(outcome.problem)
                continue
            shown = shards.shown_path(file)
            try:
                raw = finish_header(shards.path(file), shown, outcome, min(budget, MAX_HEADER_BYTES))
            except FileFault as fault:
                shards.problems.append(fault.problem)
                continue
            header = parse_header(raw, shown)
            budget -= len(raw.data)
            tensors -= len(header.entries)
            if tensors < 0:
                message = f"{shards.shown} holds more than {most:,} tensors; the rest is not read"
                shards.problems.append(FileProblem("not-supported", shards.shown, message, "", True))
                return
            shards.headers[file] = header
            shards.problems.extend(header.problems)


class OpenedTensors(Mapping[str, TensorFact]):
    """Tensors of all opened files by name.

    Facts are made when asked for: a deep reading knows 150,000 tensors, of which rules look at a few dozen.
    """

    def __init__(self, holders: dict[str, Header]) -> None:
        """``holders``: tensor name to the header that describes it."""
        self._holders = holders

    def __getitem__(self, name: str) -> TensorFact:
        header = self._holders[name]
        dtype, shape, _, _ = header.entries[name]
        return TensorFact(name, dtype, shape, header.shown)

    def __iter__(self) -> Iterator[str]:
        return iter(self._holders)

    def __len__(self) -> int:
        return len(self._holders)


def opened_tensors(shards: Shards) -> OpenedTensors:
    """Every tensor of the opened files; one that is in two files is a problem, and the first is kept."""
    holders: dict[str, Header] = {}
    for header in shards.headers.values():
        twice = sorted(header.entries.keys() & holders.keys())
        if twice:
            _note_twice(shards, header, holders[twice[0]].shown, twice)
        holders |= dict.fromkeys(header.entries.keys() - set(twice) if twice else header.entries, header)
    return OpenedTensors(holders)


def _note_twice(shards: Shards, header: Header, first: str, names: list[str]) -> None:
    verb = "is" if len(names) == 1 else "are"
    message = f"{listed(names)} {verb} both in {first} and in {header.shown}, and the copy read last counts"
    help = "remove the file that does not belong to the checkpoint"
    key, text = legible(names[0]), f"also in {first}"
    shards.problems.append(FileProblem("duplicate-tensor", header.shown, message, help, False, key, text))


def compare_with_index(shards: Shards, index: Index) -> None:
    """Hold every opened file against what the index puts into it."""
    mapped: dict[str, set[str]] = {file: set() for file in shards.headers}
    for name, file in index.weight_map.items():
        if file in mapped:
            mapped[file].add(name)
    for file, names in mapped.items():
        header = shards.headers[file]
        if not header.entries:
            continue  # malformed or empty: said already
        lacking, beyond = sorted(names - header.entries.keys()), sorted(header.entries.keys() - names)
        if lacking:
            message = (
                f"{index.shown} puts {listed(lacking)} into {legible(file)}, whose header has no such tensor"
            )
            shards.problems.append(
                FileProblem(
                    "index-names-absent",
                    header.shown,
                    message,
                    _TOGETHER,
                    key=legible(lacking[0]),
                    text="not in the header",
                )
            )
        if beyond:
            message = f"{legible(file)} holds {listed(beyond)}, which {index.shown} does not put there"
            shards.problems.append(
                FileProblem(
                    "index-lacks",
                    header.shown,
                    message,
                    _TOGETHER,
                    key=legible(beyond[0]),
                    text="not in the index",
                )
            )


_TOGETHER = "write the index and the weights together again, or download both"


def compare_total(shards: Shards, index: Index) -> None:
    """Hold the index's total_size against the headers, where all files were opened and are whole."""
    total = index.total_size
    broken = any(problem.incomplete or problem.kind == "truncated" for problem in shards.problems)
    if total is None or broken or shards.headers.keys() != set(index.files):
        return
    have = sum(entry[3] - entry[2] for header in shards.headers.values() for entry in header.entries.values())
    if have != total:
        message = f"{index.shown} gives total_size {total:,}, but its tensors take {have:,} bytes"
        help = "check the download; some writers count differently"
        key = "metadata.total_size"
        shards.problems.append(FileProblem("total-size", index.shown, message, help, False, key, str(total)))


def _each(read: Callable[[str], Read], files: Sequence[str]) -> list[Read | FileFault]:
    """``read`` of every file, in order; many at a time, since each may wait for a network disk."""

    def guarded(file: str) -> Read | FileFault:
        try:
            return read(file)
        except FileFault as fault:
            return fault

    if len(files) < THREADS_FROM:
        return [guarded(file) for file in files]
    from concurrent.futures import ThreadPoolExecutor  # only for checkpoints of many files

    with ThreadPoolExecutor(READ_THREADS) as pool:
        return list(pool.map(guarded, files))
