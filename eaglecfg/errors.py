"""The one error tree: each class carries the exit code that ends the process, and cli/ alone acts on it.

Beside it a signal between a rule and its runner.
"""

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


class ValueFromLaunch(LookupError):
    """Somebody asked for the value of a variable that is handed on from whoever launches the server."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        self.names = names

    @property
    def reason(self) -> str:
        """Why nothing can be said, as a clause."""
        names = ", ".join(self.names)
        return f"the value of {names} comes from whoever launches the server"
