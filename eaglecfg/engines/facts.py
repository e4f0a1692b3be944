"""Engine facts of one version, as read from ``schemas/engines/<engine>/``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Standing = Literal["known", "between", "newer", "older", "development"]
"""How the asked version stands to the versions whose wheels the facts were read from."""


@dataclass(frozen=True, slots=True)
class FlagFact:
    """One server flag of this version. ``name`` with underscores; ``type`` is bool, int, float, str, json or list."""

    name: str
    type: str
    default: Any = None
    choices: tuple[str, ...] | None = None
    aliases: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class CaptureFact:
    """How one target class captures hidden states in this version.

    ``rule`` is how explicit ids become boundaries: ``plus_one``; ``plus_one_if_first_is_one``;
    ``as_is_if_max_is_n`` (else plus one); ``as_is``. ``default`` names the default boundaries (``third_points`` is
    [2, n//2, n-3] with no offset). ``embedding`` and ``last``: can boundary 0 and boundary n be captured, and if not
    what happens. ``flags``: layers are marked by index, so that a negative index wraps. ``residual``: whether the
    captured state includes the residual. ``source`` is ``file:line`` in the wheel of ``read_in``.
    """

    architecture: str
    rule: str
    default: str
    embedding: str
    last: str
    flags: bool
    residual: bool
    usable: bool
    reason: str
    source: str
    read_in: str


@dataclass(frozen=True, slots=True)
class DraftFact:
    """One draft class of this version: the config keys it honours, those it ignores, the tensors it expects."""

    architecture: str
    max_layers: int | None
    free_capture_count: bool
    honours: frozenset[str]
    ignores: frozenset[str]
    source: str


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """All facts of one engine version. ``version`` is the version asked for, ``facts_of`` the one whose facts apply."""

    name: str
    version: str
    facts_of: str
    standing: Standing
    flags: Mapping[str, FlagFact]
    captures: Mapping[str, CaptureFact]
    drafts: Mapping[str, DraftFact]
    values: Mapping[str, Any]
    sources: Mapping[str, str]
