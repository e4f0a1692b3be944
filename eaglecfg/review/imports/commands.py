"""One command of a launch as it would be started, whatever form it stands in."""

from __future__ import annotations

from eaglecfg.record import record
from eaglecfg.review.imports.text import Text


@record
class Command:
    """``words`` and the ``environment`` that the launch gives them.

    ``unread`` names what may set further variables and is not read here, empty for nothing. ``certain``:
    no condition decides whether it runs. ``folder`` is where the script has gone, as it is spelled.
    """

    words: tuple[Text, ...]
    environment: dict[str, Text]
    line: int
    unread: str = ""
    certain: bool = True
    folder: str = ""
    standing_in: str = ""
    """The absolute folder that it is started in, empty where that is not certain."""
