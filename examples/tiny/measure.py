"""Run the reference decoder over many prompts, in several processes, and keep what verification counted."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Record:
    """One request. Accept length: the sum of verify_steps + correct_drafts over the sum of verify_steps."""

    id: int
    prompt_tokens: int
    completion_tokens: int
    verify_steps: int
    correct_drafts: int
    output_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """What every process needs to build the same decoder."""

    pair: Path
    wiring: dict[str, object]
    num_steps: int
    dtype: str
    output_tokens: int


def read_prompts(path: Path, count: int) -> list[tuple[int, list[int]]]:
    """The first ``count`` prompts of a file, as (id, token ids)."""
    lines = path.read_text(encoding="utf-8").splitlines()[:count]
    return [(row["id"], row["input_ids"]) for row in map(json.loads, lines)]


def accept_length(records: Sequence[Record]) -> float:
    """Tokens a verify step, the bonus token counted."""
    steps = sum(r.verify_steps for r in records)
    return (steps + sum(r.correct_drafts for r in records)) / steps if steps else 0.0


def write_records(path: Path, records: Sequence[Record], *, keep_output: bool) -> None:
    """One JSON object a line."""
    rows = [asdict(r) for r in records]
    if not keep_output:
        for row in rows:
            del row["output_ids"]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows), encoding="utf-8")


def read_records(path: Path) -> list[Record]:
    """What ``write_records`` wrote."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [Record(**{"output_ids": (), **row}) for row in rows]


def _run(job: Job, prompts: Sequence[tuple[int, list[int]]]) -> list[Record]:
    import torch

    from eaglecfg.reference.decode import Decoder, generate
    from eaglecfg.reference.load import load_draft
    from eaglecfg.reference.target import load_target
    from eaglecfg.reference.wiring import Wiring

    torch.set_num_threads(1)
    wiring = Wiring(**job.wiring)  # type: ignore[arg-type]
    dtype = getattr(torch, job.dtype)
    target = load_target(job.pair / "target", dtype=dtype, device="cpu", boundaries=wiring.boundaries)
    draft = load_draft(job.pair / "draft", target.embedding(), dtype=dtype, use_d2t=wiring.use_d2t)
    decoder = Decoder(target, draft, wiring, job.num_steps)
    records = []
    for number, prompt in prompts:
        done = generate(decoder, prompt, job.output_tokens)
        counters = done.counters
        records.append(
            Record(
                number,
                len(prompt),
                len(done.output),
                counters.verify_steps,
                counters.correct_drafts,
                tuple(done.output),
            )
        )
    return records


def run_reference(job: Job, prompts: Sequence[tuple[int, list[int]]], processes: int) -> list[Record]:
    """Greedy, end of text ignored, one torch thread a process; records in the order of ``prompts``."""
    if processes <= 1:
        return _run(job, prompts)
    parts = [prompts[i::processes] for i in range(processes)]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        done = [r for part in pool.starmap(_run, [(job, part) for part in parts]) for r in part]
    order = {number: i for i, (number, _) in enumerate(prompts)}
    return sorted(done, key=lambda r: order[r.id])
