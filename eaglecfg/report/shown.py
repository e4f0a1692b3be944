"""How much of a report is shown."""

from __future__ import annotations

from collections.abc import Mapping

from eaglecfg.record import record
from eaglecfg.report.styled import Style
from eaglecfg.rules.model import Severity

STYLE_OF: Mapping[Severity, Style] = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "info",
}
"""The style of a finding's head and marks."""


@record
class Shown:
    """What a reader wants to see, and how.

    ``fail_on`` is the least severe finding that fails the run; ``verbose`` shows findings of severity info in
    full, ``quiet`` leaves out everything but the findings and the verdict.
    """

    fail_on: Severity = Severity.ERROR
    verbose: bool = False
    quiet: bool = False

    @property
    def whole(self) -> bool:
        """Whether findings that are only worth knowing are shown in full."""
        return self.verbose or self.fail_on is Severity.INFO
