"""The one error tree. Each class carries the exit code that ends the process; cli/ alone acts on it."""

from __future__ import annotations


class EaglecfgError(Exception):
    """An error that a user can act on: its text is one sentence and is shown without a traceback."""

    exit_code = 4


class UsageError(EaglecfgError):
    """A flag, a rule id, a deployment name or a file name that cannot be used as given."""

    exit_code = 2


class ConfigUnreadable(EaglecfgError):
    """A config or study file that cannot be read at all, so that nothing in it can be checked."""

    exit_code = 2
