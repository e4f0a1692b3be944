"""Examples of rules, really run: files in a temporary folder, checked as a user's would be."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eaglecfg.record import replace
from eaglecfg.rules.examples import answer_of, materialize, server_of
from eaglecfg.rules.model import Evidence, Finding, Rule
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.runner import validate
from eaglecfg.rules.weights.reading import weigher
from eaglecfg.source.read import read_document

PLACE = "/srv/example"
"""Stands for the temporary folder in what is shown, so that two runs say the same."""


def run_example(rule: Rule, example: Mapping[str, Any]) -> Report:
    """What ``rule`` alone makes of ``example``."""
    with tempfile.TemporaryDirectory() as outer:
        # Inside of one of our own: what an example finds at .. is not for others to decide.
        folder = str(Path(outer) / "example")
        config = materialize(example, Path(folder))
        files = [path for path in (config, config.with_name("study.yaml")) if path.exists()]
        documents = [read_document(path, shown=path.name) for path in files]
        says, server = answer_of(example), server_of(example)
        weigh = weigher() if "weights" in example else None
        # What looks at the others' results finds nothing where they did not run.
        select = [rule.id] if rule.scope != "report" else []
        report = validate(documents, select=select, ask=lambda _: says, look=lambda _: server, weigh=weigh)
        names = {str(Path(folder).resolve()), folder}
    own = [each for each in report.findings if each.rule == rule]
    findings = tuple(replace(each, finding=_moved(each.finding, names)) for each in own)
    return replace(report, findings=findings)


def _moved(finding: Finding, folders: set[str]) -> Finding:
    """``finding`` with PLACE for every one of ``folders`` in its texts."""

    def move(text: str) -> str:
        for folder in folders:
            text = text.replace(folder, PLACE)
        return text

    evidence = tuple(
        Evidence(move(e.file), move(e.key), move(e.text), move(e.note), e.line, e.column)
        for e in finding.evidence
    )
    return replace(
        finding,
        message=move(finding.message),
        why=move(finding.why),
        help=move(finding.help),
        evidence=evidence,
    )


def base_pair() -> Mapping[str, str]:
    """File name to text of the small consistent pair that every example changes."""
    names = ("eaglecfg.yaml", "target/config.json", "draft/config.json")
    with tempfile.TemporaryDirectory() as folder:
        materialize({}, Path(folder))
        return {name: (Path(folder) / name).read_text(encoding="utf-8") for name in names}
