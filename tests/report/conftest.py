"""Reports for the tests of formats: real ones from rule examples, and hostile ones made by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from eaglecfg.report.roots import Roots
from eaglecfg.rules.context import Context
from eaglecfg.rules.examples import answer_of, materialize, read_docs
from eaglecfg.rules.model import Evidence, Finding, Fix, Item, Rule, Severity, Today
from eaglecfg.rules.outcome import BaselineUse, Crash, Dropped, Report, Reported, Skipped, Stale, Suppressed
from eaglecfg.rules.registry import ALL_RULES
from eaglecfg.rules.runner import validate
from eaglecfg.source.document import Document
from eaglecfg.source.read import parse_document, read_document
from eaglecfg.source.span import KeyPath, Position, Span

EVERY_NTH = 6
"""Rules whose first failing example is run: enough to meet every kind of finding, few enough to be fast."""


def _nothing(context: Context) -> Iterator[Item]:
    yield from ()


def made_up(id: str, severity: Severity = Severity.ERROR) -> Rule:
    """A rule with real documentation, whatever its id."""
    real = next(rule for rule in ALL_RULES if rule.id == id)
    return Rule(id, real.slug, severity, Today.SILENT, real.check)


RULE = made_up("EC201")
EVIL = (
    "a|b`c` <img src=x onerror=1> @team #12 [x](http://evil) ::error::% 100%\r\n*b* _c_ \u202e😀 "
    "https://x.y www.z"
)
TEXT = """\
version: 1
deployments:
  chat:
    target: {checkpoint: "😀😀"}  # beyond the basic plane, before the marks
    nccl:
      proto: LL
      buffsize: 4M
"""
CHAT: KeyPath = ("deployments", "chat")


def document(name: str = "dir with space/eagle,cfg:100%#😀.yaml") -> Document:
    return parse_document(TEXT, name, ".")


def reported(finding: Finding, severity: Severity = Severity.ERROR, name: str = "") -> Reported:
    source = document(name) if name else document()
    return Reported(RULE, finding, severity, source, source.place(finding.path).value, "chat")


def hostile() -> Report:
    """A report in which everything is said that can be said, in words that nobody means well."""
    path = (*CHAT, "nccl", "proto")
    evidence = (
        Evidence(f"draft/{EVIL}.json", EVIL, EVIL, EVIL, 7, 28),
        Evidence("draft/model.safetensors", "fc.weight", "BF16 [256, 768]", "768 = 3 × 256"),
        Evidence("sglang 0.5.23", "srt/models/llama.py:929", "adds 1"),
    )
    finding = Finding(
        EVIL, path, evidence=evidence, related=((CHAT, EVIL), ((*CHAT, "target"), "")), why=EVIL, help=EVIL,
        arithmetic=("3 × 4096 = 12288", EVIL), values={"x": [1, 2.5, None, {"a": EVIL}]},
        fix=Fix(EVIL, path, "LL,Simple", also=(Fix("drop", (*CHAT, "nccl", "buffsize"), kind="remove"),)),
    )  # fmt: skip
    unreadable = Document("-", ".", "", None, {})
    nowhere = Span(Position(1, 1), Position(1, 1))
    return Report(
        documents=(document(), unreadable),
        engines=("sglang 0.5.23",),
        deployments=("chat", "other"),
        findings=(
            reported(finding),
            reported(finding),
            reported(Finding("over several lines", CHAT), Severity.WARNING),
            Reported(RULE, Finding("empty file"), Severity.INFO, unreadable, nowhere),
        ),
        not_checked=(
            Skipped(RULE, EVIL, document(), "chat", True, nowhere, path, EVIL),
            Skipped(made_up("EC202"), "needs the draft", document()),
        ),
        dropped=(Dropped(RULE, "EC110", 2, "chat"),),
        crashes=(Crash(RULE, EVIL, "trace", "chat"), Crash(None, "KeyError: 'x'", "")),
        passed=3,
        not_applicable=1,
        more={"EC201": 37},
        accepted=(
            Suppressed(reported(finding), EVIL, nowhere, inline=True),
            Suppressed(reported(Finding("quiet", path)), "", nowhere),
        ),
        baseline=BaselineUse(
            "base|line.json",
            (reported(Finding("old", path)),),
            (Stale("EC207", "0" * 32, "x y.yaml", "deployments.chat", EVIL, "chat"),),
        ),
    )


def empty() -> Report:
    return Report((), (), (), (), (), (), (), 0, 0)


def crowded(count: int = 400) -> Report:
    """More findings, with more text, than any host shows."""
    every = [
        reported(Finding(f"{number} {EVIL * 4}", CHAT, help=EVIL * 4), severity)
        for number in range(count)
        for severity in Severity
    ]
    return Report((document(),), (), ("chat",), tuple(every), (), (), (), 0, 0)


@pytest.fixture
def roots(tmp_path: Path) -> Roots:
    return Roots(tmp_path, tmp_path)


@pytest.fixture(scope="session")
def real_reports(tmp_path_factory: pytest.TempPathFactory) -> list[Report]:
    """Reports of the first failing example of every nth rule."""
    out = []
    for rule in ALL_RULES[::EVERY_NTH]:
        example = read_docs(rule).failing[0]
        folder = tmp_path_factory.mktemp(rule.id)
        paths = [materialize(example, folder)]
        if (folder / "study.yaml").exists():
            paths.append(folder / "study.yaml")
        says = answer_of(example)
        out.append(
            validate([read_document(path, path.name) for path in paths], ask=lambda _, says=says: says)
        )
    return out
