"""A comparison as JSON, version 1. Its shape is a promise: keys are added, never renamed or dropped."""

from __future__ import annotations

import json
from typing import Any

from eaglecfg.report.machine import finding_data
from eaglecfg.review.difference.compare import (
    Change,
    Comparison,
    DeploymentDifference,
    FileDifference,
)
from eaglecfg.review.difference.effect import Effect, Fact
from eaglecfg.review.difference.findings import FindingChanges
from eaglecfg.review.difference.sides import Side
from eaglecfg.review.difference.words import KINDS
from eaglecfg.rules.model import Severity


def as_json(comparison: Comparison, fail_on: Severity, code: int, *, version: str) -> str:
    """The comparison as JSON text. ``version`` is the tool's own, ``code`` the exit code it ends with."""
    every = [each for file in comparison.files for each in file.deployments]
    data = {
        "version": 1,
        "tool": {"name": "eaglecfg", "version": version},
        "before": _side(comparison.before),
        "after": _side(comparison.after),
        "summary": {
            "changes_in_effect": comparison.in_effect,
            "deployments": {kind: sum(each.kind == kind for each in every) for kind in ("same", *KINDS)},
            "findings": _counts(comparison.findings),
            "new_at_fail_on": len(comparison.findings.new_at(fail_on)),
            "fail_on": fail_on.value,
            "incomplete": comparison.incomplete or bool(comparison.findings.unsure_at(fail_on)),
            "exit_code": code,
        },
        "notes": list(comparison.notes),
        "files": [_file(file) for file in comparison.files],
    }
    text = json.dumps(data, indent=2, ensure_ascii=False, default=str) + "\n"
    return text.encode("utf-8", "backslashreplace").decode()  # of a name that is no UTF-8, JSON's escape


def _side(side: Side) -> dict[str, Any]:
    return {
        "name": side.spelled,
        "kind": "folder" if side.folder else "file",
        "revision": None if side.revision is None else side.revision.spelled or ":",
        "files": [document.name for document in side.documents.values()],
    }


def _counts(found: FindingChanges) -> dict[str, Any]:
    return {
        "introduced": {
            severity.value: sum(one.severity is severity for one in found.introduced) for severity in Severity
        },
        "fixed": len(found.fixed),
        "changed": len(found.changed),
        "accepted": len(found.accepted),
        "undecided": len(found.undecided),
        "unsure": len(found.unsure),
    }


def _file(file: FileDifference) -> dict[str, Any]:
    return {
        "name": file.name,
        "kind": file.kind,
        "study": file.study,
        "changes": [_change(change) for change in file.changes],
        "deployments": [_deployment(each) for each in file.deployments],
        "findings": {
            "introduced": [finding_data(one) for one in file.findings.introduced],
            "fixed": [finding_data(one) for one in file.findings.fixed],
            "changed": [{"from": finding_data(a), "to": finding_data(b)} for a, b in file.findings.changed],
            "accepted": [
                {"finding": finding_data(each.found), "reason": each.reason}
                for each in file.findings.accepted
            ],
            "undecided": [finding_data(one) for one in file.findings.undecided],
            "unsure": [finding_data(one) for one in file.findings.unsure],
        },
        "results": list(file.results),
    }


def _deployment(each: DeploymentDifference) -> dict[str, Any]:
    return {
        "name": each.name,
        "kind": each.kind,
        "was": each.was or None,
        "changes": [_change(change) for change in each.changes],
        "launch": {
            "before": _words(each.before),
            "after": _words(each.after),
            "removed": [list(option) for option in each.removed],
            "added": [list(option) for option in each.added],
        },
        "results": list(each.results),
    }


def _words(effect: Effect | None) -> list[str] | None:
    return None if effect is None else [word for option in effect.launch for word in option]


def _change(change: Change) -> dict[str, Any]:
    return {
        "group": change.group,
        "name": change.name,
        "before": _fact(change.before),
        "after": _fact(change.after),
    }


def _fact(fact: Fact | None) -> dict[str, Any] | None:
    return None if fact is None else {"value": fact.value, "words": fact.words, "source": fact.source}
