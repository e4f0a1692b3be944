"""What the reference decoder cannot do, said in one sentence."""

from __future__ import annotations

from eaglecfg.errors import EaglecfgError


class ReferenceFailure(EaglecfgError):
    """A checkpoint, flag or request that the reference decoder cannot serve; the message names it."""

    exit_code = 2
