"""What a running server says of itself, and what a few generations came to, as rules look at it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from eaglecfg.record import record


@record
class Generations:
    """Requests that were really sent: greedy, one prompt each, ``tokens`` new tokens.

    ``origin`` says where the prompts are from, ``planned`` how many requests were to be sent: after several
    failures in a row no more are. ``answered`` gave what was asked for, ``failed`` did not, and
    ``problem`` is the first failure, or why nothing was sent. ``counted`` carried acceptance counters, named
    in ``counters``: ``accept_length`` is Σ(1 + correct drafts) ÷ Σ verify steps over these, ``low`` and
    ``high`` its 95 % interval over requests (None: too few to tell), ``verify_steps`` their sum.
    """

    origin: str
    tokens: int
    answered: int = 0
    failed: int = 0
    planned: int = 0
    problem: str = ""
    counted: int = 0
    counters: str = ""
    verify_steps: int = 0
    accept_length: float | None = None
    low: float | None = None
    high: float | None = None


@record
class Differing:
    """What differs between the folder that a server took a checkpoint from and the config's: ``keys`` of
    config.json, and weight ``files``."""

    keys: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


@record
class Running:
    """A server. ``problem`` says why it gave no answer, empty where it did; ``help`` what to do then.

    ``info`` is its /server_info without secrets, ``version`` the engine's as it says. ``generations`` is None
    where none were wanted. ``differing`` has, for the target and the draft that the server took from another
    folder of this machine than the config names, what differs between the two.
    """

    url: str
    problem: str = ""
    help: str = ""
    version: str = ""
    info: Mapping[str, Any] = field(default_factory=dict)
    generations: Generations | None = None
    differing: Mapping[str, Differing] = field(default_factory=dict)

    def says(self, name: str) -> bool:
        """Whether the server reports the setting ``name`` at all."""
        return name in self.info
