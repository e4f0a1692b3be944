"""What a run of the rules came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from eaglecfg.record import record
from eaglecfg.rules.model import Finding, Rule, Severity
from eaglecfg.source.document import Document
from eaglecfg.source.span import KeyPath, Span


@record
class Reported:
    """A finding with its place resolved: ``span`` lies in ``document``. No ``deployment``: a whole file."""

    rule: Rule
    finding: Finding
    severity: Severity
    document: Document
    span: Span
    deployment: str | None = None


@record
class Skipped:
    """A rule that could not decide. ``incomplete``: something that the config names could not be read.

    ``path`` is the value that it is about, where there is one; ``span`` that value, or the deployment's name.
    ``help`` says what to do about it, ``lack`` what was lacking, in the words of a verdict.
    """

    rule: Rule
    reason: str
    document: Document
    deployment: str | None = None
    incomplete: bool = False
    span: Span | None = None
    path: KeyPath = ()
    help: str = ""
    lack: str = ""


@record
class Dropped:
    """Findings that were only consequences of another rule's failure. ``because`` is that rule's id."""

    rule: Rule
    because: str
    count: int
    deployment: str | None = None


@record
class Crash:
    """A rule that raised; ``rule`` None: what rules look at could not be put together.

    ``trace`` is for the bug report, never printed unasked.
    """

    rule: Rule | None
    error: str
    trace: str
    deployment: str | None = None

    @property
    def name(self) -> str:
        """The rule as a report names it."""
        return "facts" if self.rule is None else f"{self.rule.id} {self.rule.slug}"


@record
class Suppressed:
    """A finding that the file accepts, and why.

    ``inline``: in a comment; otherwise under ``suppress:``. ``span`` is where, in the finding's document.
    """

    found: Reported
    reason: str
    span: Span
    inline: bool = False


@record
class Stale:
    """An entry of the baseline whose finding is gone. ``path`` as a report shows it."""

    rule: str
    fingerprint: str
    file: str
    path: str
    message: str
    deployment: str | None = None


@record
class BaselineUse:
    """What a baseline file made of a run: ``known`` are findings that stand in it, ``stale`` its other
    entries that nothing gave rise to, though their rule was decided."""

    file: str
    known: tuple[Reported, ...] = ()
    stale: tuple[Stale, ...] = ()


@record
class Report:
    """Everything a renderer needs. Counts are over (rule, file) or (rule, deployment) pairs.

    ``engines`` are labels such as ``sglang 0.5.14``. ``findings`` are ordered by file, severity, then line.
    ``deployments`` are the names checked, ``files`` the number of files looked at. ``checks`` is the number
    of pairs; ``more`` counts by rule id the findings that are not listed, of a rule with too many.
    ``findings`` are those that count; ``accepted`` are suppressed ones, ``baseline`` holds old ones.
    """

    documents: tuple[Document, ...]
    engines: tuple[str, ...]
    deployments: tuple[str, ...]
    findings: tuple[Reported, ...]
    not_checked: tuple[Skipped, ...]
    dropped: tuple[Dropped, ...]
    crashes: tuple[Crash, ...]
    passed: int
    not_applicable: int
    rules: int = 0
    files: int = 0
    seconds: float = 0.0
    required: frozenset[str] = field(default=frozenset())
    checks: int = 0
    more: Mapping[str, int] = field(default_factory=dict)
    accepted: tuple[Suppressed, ...] = ()
    baseline: BaselineUse | None = None

    @property
    def suppressed(self) -> int:
        """Findings that the files accept."""
        return len(self.accepted)

    @property
    def known(self) -> tuple[Reported, ...]:
        """Findings that stand in the baseline."""
        return self.baseline.known if self.baseline is not None else ()

    @property
    def every(self) -> tuple[Reported, ...]:
        """All findings: those that count, then old ones, then suppressed ones."""
        if self.baseline is None and not self.accepted:
            return self.findings
        return (*self.findings, *self.known, *(each.found for each in self.accepted))

    @property
    def failed(self) -> int:
        """Checks that found something, suppressed or not."""
        return len({(found.rule.id, found.document.name, found.deployment) for found in self.every})

    @property
    def undecided(self) -> int:
        """Checks that could not decide, and found nothing else."""
        told = {(each.rule.id, each.deployment) for each in self.every}
        told |= {(each.rule.id, each.deployment) for each in self.dropped}
        skipped = {(each.rule.id, each.document.name, each.deployment) for each in self.not_checked}
        return sum((rule, deployment) not in told for rule, _, deployment in skipped)

    @property
    def left_out(self) -> int:
        """Checks of whose findings none is left: all were consequences."""
        found = {(each.rule.id, each.deployment) for each in self.every}
        return len({(each.rule.id, each.deployment) for each in self.dropped} - found)

    def count(self, severity: Severity) -> int:
        """Findings of exactly this severity."""
        return sum(found.severity is severity for found in self.findings)

    def exit_code(self, fail_on: Severity = Severity.ERROR) -> int:
        """0 good; 1 findings; 2 a file is no YAML mapping; 3 something unread; 4 a rule crashed.

        Where several hold: 4, then 2, 1, 3.
        """
        order = [Severity.INFO, Severity.WARNING, Severity.ERROR]
        if self.crashes:
            return 4
        if any(not isinstance(document.data, dict) for document in self.documents):
            return 2
        if any(order.index(found.severity) >= order.index(fail_on) for found in self.findings):
            return 1
        missing = any(skip.incomplete or skip.rule.id in self.required for skip in self.not_checked)
        unread = any(found.finding.incomplete for found in self.findings)
        return 3 if missing or unread else 0
