"""Accept length of the right wiring and of wrong ones, on the same weights and held-out prompts.

python examples/tiny/accept_table.py    prints the Markdown table of the README
"""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict
from pathlib import Path

from measure import Job, accept_length, read_prompts, run_reference

from eaglecfg.reference.load import read_config
from eaglecfg.reference.wiring import Wiring, boundaries_by_rule, listed_ids, wrong_wirings

HERE = Path(__file__).resolve().parent
BROKEN = {
    "ids shifted by one": "the engine adds 1 to ids that carry it already",
    "embedding first": "boundary 0 in front, the last one gone: the fault of the original story",
    "fc column blocks permuted": "states concatenated in another order than in training",
    "d2t dropped": "draft ids taken for target ids",
    "fc skipped": "final hidden state fed past fc, as `--speculative-algorithm EAGLE` does",
}


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pair", type=Path, default=HERE)
    parser.add_argument("--prompts", type=Path, default=HERE / "prompts.jsonl")
    parser.add_argument("--count", type=int, default=256)
    parser.add_argument("--output-tokens", type=int, default=64)
    parser.add_argument("--num-steps", type=int, default=3)
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


def main() -> None:
    """Measure and print."""
    options = parse()
    layers = int(read_config(options.pair / "target")["num_hidden_layers"])
    right = Wiring(boundaries_by_rule(listed_ids(read_config(options.pair / "draft")), layers))
    prompts = read_prompts(options.prompts, options.count)
    print("| wiring | boundaries | accept length | drafts accepted | what is wrong |\n|---|---|---|---|---|")
    for name, wiring in {"right": right, **wrong_wirings(right)}.items():
        job = Job(options.pair, asdict(wiring), options.num_steps, options.dtype, options.output_tokens)
        length = accept_length(run_reference(job, prompts, options.processes))
        share = (length - 1) / options.num_steps
        reason = BROKEN.get(name, "nothing: as trained")
        print(f"| {name} | {list(wiring.boundaries)} | {length:.2f} | {share:.0%} | {reason} |", flush=True)
    print(
        f"\n{len(prompts)} held-out prompts, {options.output_tokens} tokens each, greedy, "
        f"{options.num_steps} steps, {options.dtype}."
    )


if __name__ == "__main__":
    main()
