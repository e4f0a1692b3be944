"""Engine facts of one version, as read from ``schemas/engines/<engine>/``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from eaglecfg.engines.flags import FlagFact, Flags
from eaglecfg.record import record

__all__ = ["CaptureFact", "DraftFact", "EngineFacts", "FlagFact", "Flags", "Standing"]

Standing = Literal["known", "between", "newer", "older", "development"]
"""How the asked version stands to the versions whose wheels the facts were read from."""


@record
class CaptureFact:
    """How one target class captures hidden states in this version.

    ``rule`` is how explicit ids become boundaries: ``plus_one``; ``plus_one_if_first_is_one``;
    ``as_is_if_max_is_n`` (else plus one). ``default`` names the default boundaries (``third_points`` is [2,
    n//2, n-3] with no offset). ``embedding`` and ``last``: can boundary 0 and boundary n be captured, and if
    not what happens (``crash``, ``short``, ``crash_at_start``). ``flags``: layers are marked by index, so
    that a negative index wraps. ``residual``: whether the captured state includes the residual. ``source`` is
    ``file:line`` in the wheel of ``read_in``. ``depth``: where the class reads its layer count, ``text``
    config or ``top`` level first. ``empty``: what an empty id list does. ``packer``: a short capture raises
    by itself. ``deferred``: the state is taken before an all-reduce that the layer leaves to the next one
    (only where that fusion is on). ``delegates``: the class whose setter really runs. ``outcome``: what goes
    wrong where the class is not usable.
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
    depth: str = "text"
    empty: str = "crash"
    packer: bool = False
    deferred: bool = False
    delegates: str = ""
    outcome: str = ""
    note: str = ""
    inferred: bool = False


@record
class DraftFact:
    """One draft class of this version: the config keys it honours, those it ignores, the tensors it expects.

    ``family`` is ``llama`` or ``mla``. ``max_layers`` None: any number. ``free_capture_count`` false: always
    three captured states. ``count_keys`` are where the number of captured states is read, first hit wins.
    ``prefixes`` are the accepted spellings of the decoder layer's prefix (layer 0 only for ``midlayer.``),
    ``outer`` an optional prefix of every name. ``fc_split``: fc is split over ranks and gathered.
    ``unknown``: what happens to a tensor that the class does not know (``dropped`` silently, ``warned``).
    ``also_read``: keys that its code reads and that decide nothing for a draft. ``maps``: a tensor is taken
    for d2t by its ``leaf``, or by a d2t ``anywhere`` in its name. ``passed_over``: spellings inside the
    layer that look right and are never loaded, each with what the class looks for instead. ``plain_only``:
    parts of the layer that loading reads as floating-point numbers, so that they cannot be quantised.
    """

    architecture: str
    max_layers: int | None
    free_capture_count: bool
    honours: frozenset[str]
    ignores: frozenset[str]
    source: str
    read_in: str = ""
    family: str = "llama"
    count_keys: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    outer: str = ""
    fc_split: bool = False
    fc_quantized: bool = False
    unknown: str = "dropped"
    required_keys: tuple[str, ...] = ()
    also_read: tuple[str, ...] = ()
    maps: Literal["leaf", "anywhere"] = "leaf"
    passed_over: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    plain_only: tuple[str, ...] = ()


@record
class EngineFacts:
    """All facts of one engine version.

    ``version`` is the version asked for, ``facts_of`` the one whose facts apply. ``architectures`` are the
    model classes that the version registers. ``foreign`` are draft class names of other trainers and engines
    that no version loads, with what to do about each.
    """

    name: str
    version: str
    facts_of: str
    standing: Standing
    flags: Flags
    captures: Mapping[str, CaptureFact]
    drafts: Mapping[str, DraftFact]
    values: Mapping[str, Any]
    sources: Mapping[str, str]
    architectures: frozenset[str] = frozenset()
    foreign: Mapping[str, str] = field(default_factory=dict)
    known_versions: tuple[str, ...] = ()
