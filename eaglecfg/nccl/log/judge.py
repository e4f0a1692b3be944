"""Whether the settings of a deployment acted, as far as a log can tell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from eaglecfg.nccl.facts import VariableFact, variable_fact
from eaglecfg.nccl.log.evidence import evidence
from eaglecfg.nccl.log.facts import log_facts, says_when_read
from eaglecfg.nccl.log.model import NcclLog, Refused
from eaglecfg.nccl.numbers import read_number
from eaglecfg.nccl.parse import Parsed, parse

Status = Literal["acted", "taken", "contradicted", "misread", "overridden", "not taken", "cannot tell"]
"""``acted``: NCCL took it, and what ran shows it. ``taken``: NCCL took it, nothing that ran shows it.
``contradicted``: what ran shows the opposite. ``misread``: NCCL made something else of the
text. ``overridden``: NCCL got another value. ``not taken``: NCCL never read it, or refused it."""

FAILED: frozenset[Status] = frozenset(("contradicted", "misread", "overridden", "not taken"))
"""A setting that demonstrably did not act."""

OF_THE_LOG = frozenset(
    (
        "NCCL_DEBUG",
        "NCCL_DEBUG_SUBSYS",
        "NCCL_DEBUG_FILE",
        "NCCL_DEBUG_TIMESTAMP_FORMAT",
        "NCCL_DEBUG_TIMESTAMP_LEVELS",
    )
)
"""Variables that make the log itself: that it is there is their effect."""

READ_ANYWAY = frozenset(("NCCL_NET", "NCCL_NET_PLUGIN", "NCCL_SOCKET_IFNAME", "NCCL_SOCKET_FAMILY"))
"""Variables of the network that a start reads on one host as well: ranks find one another over a socket."""

_MISREAD = frozenset(("misread", "octal", "overflow", "empty", "word", "case", "number"))


@dataclass(frozen=True, slots=True)
class Asked:
    """A setting. ``text`` as the deployment has it, ``sees`` what the engine hands on (None: it takes the
    variable away), ``why`` the engine does that, empty where it does not touch it. ``version`` of NCCL, for
    logs that do not name theirs."""

    name: str
    text: str
    sees: str | None
    why: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one setting. ``taken`` are the values that NCCL said it took. ``needs``: tokens of
    NCCL_DEBUG_SUBSYS with which a log would tell more."""

    name: str
    asked: str
    taken: tuple[str, ...]
    status: Status
    why: str
    needs: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether it demonstrably did not act."""
        return self.status in FAILED


def judge(settings: Iterable[Asked], log: NcclLog) -> tuple[Verdict, ...]:
    """A verdict for each setting but those that only make the log."""
    return tuple(_one(asked, log) for asked in settings if asked.name not in OF_THE_LOG)


def _one(asked: Asked, log: NcclLog) -> Verdict:
    version = log.version or asked.version
    parsed = parse(asked.name, asked.text, version)
    taken = tuple(one.value for one in log.environment.get(asked.name, ()))

    def verdict(status: Status, why: str, needs: tuple[str, ...] = ()) -> Verdict:
        return Verdict(asked.name, asked.text, taken, status, why, needs)

    refused = _refusal(asked, log)
    if len(taken) > 1:
        return verdict("overridden", f"processes took different values: {' and '.join(taken)}")
    if taken and not _same(parsed, taken[0]):
        return verdict(*_other_value(asked, parsed, taken[0]))
    if refused is not None:
        return verdict("not taken", f'NCCL says "{refused.text}"')
    problem = next((one for one in parsed.problems if one.code in _MISREAD), None)
    if taken and problem is not None:
        return verdict("misread", f"{problem.outcome}; expected {problem.expected}")
    shown = evidence(parsed, log)
    if taken:
        if shown.holds is None:
            return verdict("taken", shown.why, shown.needs)
        return verdict("acted" if shown.holds else "contradicted", shown.why)
    return verdict(*_untold(asked, parsed, log, version, shown.holds, shown.why, shown.needs))


def _other_value(asked: Asked, parsed: Parsed, value: str) -> tuple[Status, str]:
    if asked.sees is not None and asked.sees != asked.text and asked.why:
        return "overridden", f"NCCL took {value}: the engine sets it ({asked.why})"
    if parsed.problems and str(parsed.taken) == value:
        return "misread", parsed.problems[0].outcome
    return (
        "overridden",
        f"NCCL took {value}: the engine, a wrapper, the image or an nccl.conf file sets it",
    )


def _same(parsed: Parsed, value: str) -> bool:
    """Whether the value in the log is the text that was asked, as NCCL reads it."""
    if value in (parsed.text, parsed.text.strip()):
        return True
    try:
        number = int(value)
    except ValueError:
        return isinstance(parsed.taken, str) and parsed.taken == value
    fact = variable_fact(parsed.name)
    if fact is not None and fact.kind != "int":
        return False
    return read_number(parsed.text).value == number


def _refusal(asked: Asked, log: NcclLog) -> Refused | None:
    for one in log.refused:
        if one.name == asked.name or (not one.name and one.value and one.value == asked.text):
            return one
    return None


def _untold(
    asked: Asked,
    parsed: Parsed,
    log: NcclLog,
    version: str,
    holds: bool | None,
    why: str,
    needs: tuple[str, ...],
) -> tuple[Status, str, tuple[str, ...]]:
    """The verdict where no line says that NCCL took the setting."""
    fact = variable_fact(asked.name)
    if asked.sees != asked.text and asked.why:
        became = f"sets it to {asked.sees}" if asked.sees is not None else "takes it away"
        return "overridden", f"the engine {became} ({asked.why})", ()
    standing = fact.standing(version) if fact is not None and version else "there"
    if standing in ("gone", "not yet"):
        return "not taken", f"NCCL {version} reads no such variable", ()
    level = asked.name in log_facts()["levels_said"]
    speaks = fact is not None and says_when_read(asked.name, fact.kind, version or "0")
    told = _finished(log) and ("INFO" in log.levels if level else "ENV" in log.subsystems)
    if told and fact is None:
        return "not taken", "no line names it, and eaglecfg knows no such variable of NCCL", ()
    if told and speaks and fact is not None:
        late = fact.name not in log_facts()["shown_by"] and not parsed.problems
        if late and not (log.choices or log.calls):
            return (
                "cannot tell",
                "NCCL reads it later than this log shows: no collective is in it",
                ("TUNING",),
            )
        if not parsed.problems:
            if fact.name == "NCCL_P2P_DISABLE" and parsed.taken == 0 and holds:
                return "acted", why, ()
            unsaid = _unsaid(fact, parsed, log)
            if unsaid and holds is not False:
                return "cannot tell", f"{unsaid}; {why}", needs
        return "not taken", _never(fact, parsed, log), ()
    if holds is False:
        return "contradicted", why, ()
    if not _finished(log):
        return "cannot tell", "no communicator finished its initialisation in this log", ()
    if not told:
        return "cannot tell", "the log does not show what NCCL reads from the environment", ("ENV",)
    if holds:
        return "acted", why, ()
    return "cannot tell", f"NCCL writes no line when it reads it; {why}", needs


def _never(fact: VariableFact, parsed: Parsed, log: NcclLog) -> str:
    if fact.name == "NCCL_P2P_LEVEL" and "NCCL_P2P_DISABLE" in log.environment:
        return "NCCL_P2P_DISABLE=1 comes before it"
    if parsed.problems:
        return parsed.problems[0].outcome
    return "NCCL never read it in these processes"


def _unsaid(fact: VariableFact, parsed: Parsed, log: NcclLog) -> str:
    """Why no line names a setting that asks for nothing but what happened, empty where one should."""
    if fact.name == "NCCL_P2P_DISABLE" and parsed.taken == 0:
        return "NCCL names no value but 1, and leaves P2P on without it"
    if fact.acts == "network" and fact.name not in READ_ANYWAY and not _talks_over(log, "NET"):
        return "NCCL reads it on the way to a network, and no ranks talk over one here"
    return ""


def _talks_over(log: NcclLog, kind: str) -> bool:
    return any(one.kind.startswith(kind) for one in log.edges)


def _finished(log: NcclLog) -> bool:
    return any(member.complete for group in log.communicators for member in group.members)
