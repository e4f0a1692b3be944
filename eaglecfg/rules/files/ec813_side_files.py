"""The JSON files beside config.json must be readable where they exist."""

from __future__ import annotations

from collections.abc import Iterator

from eaglecfg.rules.context import Context
from eaglecfg.rules.files.problems import SIDE_FILES, checkpoints, finding, of_kinds, unreadable_record
from eaglecfg.rules.model import Item, Rule, Severity, Today


def check(context: Context) -> Iterator[Item]:
    """generation_config.json, tokenizer_config.json, hf_quant_config.json; not a broken training record."""
    for side, facts in checkpoints(context):
        problems = [
            problem
            for problem in of_kinds(facts, "side-file-malformed", "duplicate-key", "repeated-key")
            if problem.file.endswith(SIDE_FILES) and not unreadable_record(problem)
        ]
        if problems:
            why = "what it says is not taken into account, here or by the engine"
            yield finding(context, side, problems, why=why)


RULE = Rule(
    id="EC813",
    slug="side-file-malformed",
    severity=Severity.WARNING,
    today=Today.NOTHING,
    check=check,
)
