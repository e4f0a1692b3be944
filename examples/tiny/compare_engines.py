"""Compare the accept lengths of two engines on the same prompts.

record-server      ask a running server (SGLang or eaglecfg.reference) and keep each request's counters
record-reference   run the reference decoder without a server, in several processes
compare            the paired difference of two recordings, with its bootstrap interval over prompts
"""

from __future__ import annotations

import argparse
import json
import os
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import numpy as np
from measure import Job, Record, accept_length, read_prompts, read_records, run_reference, write_records

from eaglecfg.reference.load import read_config
from eaglecfg.reference.wiring import Wiring, boundaries_by_rule, listed_ids

HERE = Path(__file__).resolve().parent
RESAMPLES = 10_000


def ask(url: str, number: int, prompt: list[int], output_tokens: int) -> Record:
    """One greedy request; the counters are those of sglang 0.5.12 and later."""
    body = {
        "input_ids": prompt,
        "sampling_params": {"temperature": 0, "max_new_tokens": output_tokens, "ignore_eos": True},
    }
    request = urllib.request.Request(
        f"{url}/generate", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=300) as answer:
        result = json.load(answer)
    meta = result["meta_info"]
    return Record(
        number,
        len(prompt),
        meta["completion_tokens"],
        meta["spec_verify_ct"],
        meta["spec_num_correct_drafts"],
        tuple(result["output_ids"]),
    )


def record_server(options: argparse.Namespace) -> list[Record]:
    """Ask for every prompt, ``concurrency`` at a time."""
    with ThreadPoolExecutor(options.concurrency) as pool:
        return list(
            pool.map(
                lambda item: ask(options.url, item[0], item[1], options.output_tokens),
                read_prompts(options.prompts, options.count),
            )
        )


def record_reference(options: argparse.Namespace) -> list[Record]:
    """The draft wired as SGLang's Llama class wires it."""
    layers = int(read_config(options.pair / "target")["num_hidden_layers"])
    boundaries = boundaries_by_rule(listed_ids(read_config(options.pair / "draft")), layers)
    job = Job(
        options.pair, asdict(Wiring(boundaries)), options.num_steps, options.dtype, options.output_tokens
    )
    return run_reference(job, read_prompts(options.prompts, options.count), options.processes)


def bootstrap(first: list[Record], second: list[Record], seed: int) -> tuple[float, float]:
    """95 % interval of the difference of the pooled accept lengths, prompts resampled in pairs."""
    counts = np.array(
        [
            [a.verify_steps, a.correct_drafts, b.verify_steps, b.correct_drafts]
            for a, b in zip(first, second, strict=True)
        ]
    )
    rng = np.random.default_rng(seed)
    differences = np.empty(RESAMPLES)
    for i in range(RESAMPLES):
        a_steps, a_correct, b_steps, b_correct = counts[rng.integers(len(counts), size=len(counts))].sum(
            axis=0
        )
        differences[i] = a_correct / a_steps - b_correct / b_steps
    low, high = np.quantile(differences, [0.025, 0.975])
    return float(low), float(high)


def compare(options: argparse.Namespace) -> None:
    """Print a Markdown table of both recordings and the interval."""
    first, second = read_records(options.first), read_records(options.second)
    if [r.id for r in first] != [r.id for r in second]:
        raise SystemExit(f"{options.first} and {options.second} hold different prompts")
    low, high = bootstrap(first, second, options.seed)
    difference = accept_length(first) - accept_length(second)
    print("| recording | prompts | output tokens | verify steps | accept length |\n|---|---|---|---|---|")
    for path, records in ((options.first, first), (options.second, second)):
        tokens, steps = sum(r.completion_tokens for r in records), sum(r.verify_steps for r in records)
        print(f"| {path.stem} | {len(records)} | {tokens} | {steps} | {accept_length(records):.4f} |")
    print(
        f"\nDifference {difference:+.4f}, 95 % interval over prompts [{low:+.4f}, {high:+.4f}], "
        f"{high - low:.4f} wide, {'contains' if low <= 0 <= high else 'does not contain'} 0 "
        f"({RESAMPLES} paired resamples, seed {options.seed})."
    )
    if first[0].output_ids and second[0].output_ids:
        same = sum(a.output_ids == b.output_ids for a, b in zip(first, second, strict=True))
        print(f"{same} of {len(first)} outputs are identical token for token.")


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    modes = parser.add_subparsers(dest="mode", required=True)
    server = modes.add_parser("record-server")
    server.add_argument("--url", default="http://127.0.0.1:30000")
    server.add_argument("--concurrency", type=int, default=8)
    reference = modes.add_parser("record-reference")
    reference.add_argument("--pair", type=Path, default=HERE)
    reference.add_argument("--num-steps", type=int, default=3)
    reference.add_argument("--dtype", default="bfloat16")
    reference.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    for mode in (server, reference):
        mode.add_argument("--prompts", type=Path, default=HERE / "prompts.jsonl")
        mode.add_argument("--count", type=int, default=1024)
        mode.add_argument("--output-tokens", type=int, default=128)
        mode.add_argument("--keep-output", action="store_true", help="also keep the output token ids")
        mode.add_argument("--out", type=Path, required=True)
    both = modes.add_parser("compare")
    both.add_argument("first", type=Path)
    both.add_argument("second", type=Path)
    both.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main() -> None:
    """Run one mode."""
    options = parse()
    if options.mode == "compare":
        compare(options)
        return
    records = record_server(options) if options.mode == "record-server" else record_reference(options)
    write_records(options.out, records, keep_output=options.keep_output)
    print(f"{len(records)} prompts, accept length {accept_length(records):.4f}", flush=True)


if __name__ == "__main__":
    main()
