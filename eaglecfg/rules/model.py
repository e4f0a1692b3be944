"""What rules are made of and what they yield."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from eaglecfg.record import record
from eaglecfg.source.span import KeyPath, Span

if TYPE_CHECKING:
    from eaglecfg.rules.context import Context


class Severity(StrEnum):
    """ERROR: does not start, crashes, or is certain to feed the draft something it was not made for.

    WARNING: starts, but something is likely unintended, ignored or overwritten. INFO: worth knowing.
    """

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Today(StrEnum):
    """What the engine itself does about the fault."""

    SILENT = "silent"
    CRASH_AT_START = "crash at start"
    CRASH_AT_FIRST_REQUEST = "crash at the first request"
    REFUSED = "refused at start"
    REWRITTEN = "rewritten"
    IGNORED = "ignored"
    SLOWER = "slower"
    NOTHING = "nothing"


class Need(StrEnum):
    """A fact that a rule cannot do without. The runner reports not_checked where it is missing."""

    ENGINE = "engine facts"
    TARGET_CONFIG = "the target's config.json"
    DRAFT_CONFIG = "the draft's config.json"
    TARGET_NAMES = "the target's tensor names"
    DRAFT_NAMES = "the draft's tensor names"
    DRAFT_TENSORS = "the draft's tensor shapes"
    CAPTURE = "the captured boundaries"
    TRAINED = "the trained boundaries (capture.trained_boundaries or eaglecfg-training.json)"
    HARDWARE = "the hardware block"
    RUNNING = "an answer of the running server"
    WEIGHTS = "the values of the draft's weights (--weights)"


@record
class Evidence:
    """A fact outside the config that took part: a line of config.json, a tensor, a fact of the engine.

    ``file`` as shown to the user. ``key`` is a JSON key path or a tensor name, ``text`` the value as it is
    printed (``BF16 [4096, 12288]``), ``note`` what it says here (``12288 = 3 × 4096``).
    """

    file: str
    key: str
    text: str
    note: str = ""
    line: int | None = None
    column: int | None = None


@record
class Fix:
    """A change that a machine can apply at ``path`` (in document terms).

    ``set`` writes ``text`` as the source text of the value, ``rename`` as the key; ``remove`` takes the key
    and its value, or an item of a list, out; ``add`` makes a key of that path with the value ``text``;
    ``cut`` takes the text at ``span`` out, which holds no data: a comment, a key that is written again.

    What runs after a ``safe`` one is what runs before it: the same arguments as the engine settles them, the
    same values as NCCL reads them, the same wiring. It spells something otherwise, takes out what has no
    effect, or mends what this tool alone reads. Any other is not safe, however clear it is what was meant.

    ``also`` are changes that belong to it: all are made, or none. ``at_alias`` puts a value in place of the
    alias that stands at ``path``; without it the text behind the anchor changes.
    """

    title: str
    path: KeyPath
    text: str = ""
    safe: bool = False
    kind: Literal["set", "rename", "remove", "add", "cut"] = "set"
    also: tuple[Fix, ...] = ()
    span: Span | None = None
    at_alias: bool = False


@record
class Finding:
    """One fault, stated in one sentence with both values.

    ``path`` is in document terms and names the YAML value to show; ``at_key`` shows the key instead;
    ``span`` overrides both. ``related`` are further YAML places with a note each. ``values`` are the named
    values that took part, ``arithmetic`` lines such as ``3 × 4096 = 12288``. ``severity`` is its own.
    ``more`` counts further findings of the kind that are not listed. ``doubts`` are places (file, key) whose
    value cannot be relied on: findings of other rules with evidence from there are dropped as consequences.
    ``lack`` is what an ``incomplete`` one lacked, for the verdict; empty: something that could not be read.
    """

    message: str
    path: KeyPath = ()
    at_key: bool = False
    span: Span | None = None
    severity: Severity | None = None
    today: Today | None = None
    why: str = ""
    help: str = ""
    evidence: tuple[Evidence, ...] = ()
    related: tuple[tuple[KeyPath, str], ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    arithmetic: tuple[str, ...] = ()
    fix: Fix | None = None
    incomplete: bool = False
    more: int = 0
    doubts: tuple[tuple[str, str], ...] = ()
    lack: str = ""


@record
class NotChecked:
    """The rule could not decide. ``incomplete`` where something that the config names could not be read.

    ``path`` names the value that it is about, in document terms; ``help`` what to do about it. ``lack`` is
    what was lacking, as the verdict of a run that needs the rule says it; empty: as ``reason`` says, or
    something that could not be read.
    """

    reason: str
    incomplete: bool = False
    path: KeyPath = ()
    help: str = ""
    lack: str = ""


@record
class NotApplicable:
    """The rule has nothing to say about this deployment."""


Item = Finding | NotChecked | NotApplicable
Check = Callable[["Context"], Iterator[Item]]
Scope = Literal["file", "deployment", "study", "report"]


@record
class Rule:
    """A check and what is known about it.

    ``check`` yields findings, or NotChecked, or NotApplicable; nothing at all is a pass. ``needs`` are tested
    before it runs. ``follows`` names rules whose failure explains this one's: its findings are then dropped
    and counted. Rules of scope ``report`` run last, on what the others came to. ``research`` are the ids of
    the checks in the field's literature that the rule answers.
    """

    id: str
    slug: str
    severity: Severity
    today: Today
    check: Check
    scope: Scope = "deployment"
    needs: tuple[Need, ...] = ()
    follows: tuple[str, ...] = ()
    research: tuple[str, ...] = ()
