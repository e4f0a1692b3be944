"""``python -m benchmarks.startup``: the whole process of ``eaglecfg validate`` on this repository's example.

Runs alternate with ``yamllint`` on the same file, so that both meet the same load of the machine.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys

from benchmarks.process import ROOT, Run, eaglecfg, median, run, table

BAR_SECONDS = 0.150
BAR_TIMES_YAMLLINT = 2.0
HEAVY = ("torch", "optuna", "scipy", "transformers", "pydantic", "rich", "numpy", "jsonschema")
FORBIDDEN = ("torch", "optuna", "scipy", "transformers", "pydantic")
REPEATS = 15

PROBE = """\
import sys
from eaglecfg.cli.main import main
try:
    sys.argv = ["eaglecfg", "validate", "eaglecfg.yaml"]
    main()
except SystemExit:
    pass
print("loaded:", *(name for name in {heavy!r} if name in sys.modules))
"""


def main() -> int:
    """Measure, print. 0 when the bars hold and nothing heavy was loaded, else 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    repeats = parser.parse_args().repeats
    commands = {
        "eaglecfg validate": eaglecfg("validate", "eaglecfg.yaml"),
        "bare python": [sys.executable, "-c", ""],
    }
    if importlib.util.find_spec("yamllint") is not None:
        commands["yamllint"] = [sys.executable, "-m", "yamllint", "eaglecfg.yaml"]
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for command in commands.values():
        run(command, ROOT)  # fills the file cache and writes the bytecode
    for _ in range(repeats):
        for name, command in commands.items():
            runs[name].append(run(command, ROOT))
    rows = [["process", "median ms", "fastest ms", "slowest ms", "cpu ms", "peak MiB", "exit"]]
    for name, all_runs in runs.items():
        times = [one.seconds * 1000 for one in all_runs]
        middle = median(all_runs)
        numbers = [
            f"{middle.seconds * 1000:.0f}",
            f"{min(times):.0f}",
            f"{max(times):.0f}",
            f"{middle.cpu * 1000:.0f}",
        ]
        rows.append([name, *numbers, f"{middle.peak_mib:.0f}", str(middle.code)])
    print(table(rows), end="\n\n")
    return 0 if judge(runs) else 1


def judge(runs: dict[str, list[Run]]) -> bool:
    """Print one line per bar; whether all hold."""
    ours = median(runs["eaglecfg validate"])
    loaded = (
        run([sys.executable, "-c", PROBE.format(heavy=HEAVY)], ROOT).output.rpartition("loaded:")[2].split()
    )
    verdicts = [
        (ours.code in (0, 1), f"exit code {ours.code}"),
        (ours.seconds <= BAR_SECONDS, f"{ours.seconds * 1000:.0f} ms, bar {BAR_SECONDS * 1000:.0f} ms"),
        (not set(loaded) & set(FORBIDDEN), f"of the heavy packages loaded: {', '.join(loaded) or 'none'}"),
    ]
    if "yamllint" in runs:
        times = ours.seconds / median(runs["yamllint"]).seconds
        verdicts.append(
            (times <= BAR_TIMES_YAMLLINT, f"{times:.2f} × yamllint, bar {BAR_TIMES_YAMLLINT:.0f} ×")
        )
    for good, line in verdicts:
        print(f"{'ok    ' if good else 'MISSED'}  {line}")
    return all(good for good, _ in verdicts)


if __name__ == "__main__":
    sys.exit(main())
