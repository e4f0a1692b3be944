"""``validate --baseline`` and ``--write-baseline``."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from eaglecfg.cli.files import check_writable, refuse_inputs, write_whole
from eaglecfg.cli.output import tell
from eaglecfg.cli.report_output import Outputs
from eaglecfg.errors import UsageError
from eaglecfg.rules.baseline import baseline_text, is_baseline, read_baseline, still_open, with_baseline
from eaglecfg.rules.model import Rule
from eaglecfg.rules.outcome import Report


def with_baselines(
    report: Report,
    use: str | None,
    write: str | None,
    rules: Collection[Rule],
    inputs: Collection[Path],
    outputs: Outputs,
) -> Report:
    """``report`` without the findings that the baseline ``use`` lists, or that were written to ``write``.

    ``rules`` are those that ran. Raises UsageError where a file cannot be read or must not be written.
    """
    if use is not None:
        outputs.keep_off([Path(use)])
    if write is None:
        return with_baseline(report, read_baseline(use), rules) if use is not None else report
    if use is not None and os.path.realpath(use) != os.path.realpath(write):
        read_baseline(use)  # a misspelled name must not pass unseen
    _refuse(write, inputs)
    outputs.keep_off([Path(write)])
    code = report.exit_code()
    if code in (2, 4):
        reason = "a file could not be taken apart" if code == 2 else "a check crashed"
        tell(f"eaglecfg: {write} was not written: {reason}")
        return report
    # A run that looked at one deployment says nothing about what stands there of the others.
    kept = still_open(report, read_baseline(write), rules) if _readable(write) else ()
    text = baseline_text(report, Path(os.path.realpath(write)).parent, kept)
    write_whole(Path(write), text.encode())
    if not outputs.shown.quiet:
        tell(f"wrote {write}")
    return with_baseline(report, read_baseline(write), rules)


def _readable(name: str) -> bool:
    """Whether there is a baseline of this version; an older one is written anew."""
    try:
        read_baseline(name)
    except UsageError:
        return False
    return True


def _refuse(name: str, inputs: Collection[Path]) -> None:
    if name == "-":
        raise UsageError("a baseline is written to a file, stdout has the report; name the file")
    check_writable(name)
    refuse_inputs([name], inputs)
    path = Path(name)
    if path.exists() and not is_baseline(path):
        raise UsageError(f"{name} is no baseline, and only one is written over; name another file")
