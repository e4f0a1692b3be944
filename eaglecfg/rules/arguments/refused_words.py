"""Sentences for the checks that an engine makes of its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eaglecfg.engines.conditions import UNKNOWN, Read, resolved
from eaglecfg.rules.evidence import either

BY_MEMORY = "chosen by GPU memory"
"""A prefill chunk that is not given: every version read picks a number above 0."""

WORKED_OUT = {
    "chunked_prefill_size": "prefill.chunk",
    "attention_backend": "decode.backend",
    "prefill_attention_backend": "prefill.backend",
    "decode_attention_backend": "decode.backend",
    "dp_size": "attention.dp_size",
    "attn_dp_size": "attention.dp_size",
    "speculative_algorithm": "given.algorithm",
}
"""Flags behind names that are worked out. Both backends come together in every check."""

_FLAGS = {
    "prefill.chunk": "chunked_prefill_size",
    "decode.backend": "decode_attention_backend",
    "prefill.backend": "prefill_attention_backend",
    "attention.dp_size": "dp_size",
    "given.algorithm": "speculative_algorithm",
}
_SILENT = frozenset({"off", "unset", "not in", "not", "not begins"})
"""Operators of terms that only say what is not the case: they explain nothing to the reader."""


def flag(name: str) -> str:
    """The flag or variable behind ``name``, as it is written."""
    return _FLAGS.get(name, name.removeprefix("$"))


def tellable(value: Any) -> Any:
    """``value`` as JSON can say it."""
    return value if isinstance(value, bool | int | str | list | dict) or value is None else str(value)


def shown(name: str, value: Any) -> str:
    """``name`` with its value."""
    return f"{flag(name)} is {_spelled(value)}"


def sentence(terms: Sequence[Any], read: Read) -> tuple[str, str]:
    """(what is wrong, what to do) of terms that all hold, alternatives already chosen."""
    last = terms[-1]
    context = [
        term for term in terms[:-1] if term[1] not in _SILENT and term[0] not in (last[0], "machine.cuda")
    ]
    where = " and ".join(dict.fromkeys(_setting(term, read) for term in context))
    first = flag(context[0][0]) if context else ""
    out = f"; or leave out {first}" if first and first != "target.class" else ""
    return _sentence(last, read, where, out)


def _sentence(last: Sequence[Any], read: Read, where: str, out: str) -> tuple[str, str]:
    name, operator, value = last[0], last[1], read(last[0])
    key = flag(name)
    leave = f"{out.removeprefix('; or ') + ' or' if out else 'leave out'} {key}"
    several = " and " in where
    fits, takes, needs = ("do", "take", "need") if several else ("does", "takes", "needs")
    if name == "target.class":
        return f"{where} {fits} not go with a target of class {value}", out.removeprefix("; or ")
    if name == "speculative_algorithm" and operator in ("not in", "not in or unset"):
        return (
            f"{where} {takes} speculative_algorithm {either(last[2])} only, but it is {_spelled(value)}",
            out.removeprefix("; or ") or f"write speculative_algorithm: {last[2][0]}",
        )
    if operator in ("on", "set", "begins") or (operator in ("is", "in") and where):
        what = value if name == "speculative_algorithm" else _setting(last, read)
        help_ = out.removeprefix("; or ") if name == "speculative_algorithm" else leave
        if operator in ("is", "in"):
            help_ = f"write another {key}{out}"
        return f"{where} {fits} not go with {what}" if where else f"{what} is refused", help_
    if operator in ("off", "unset"):
        return (
            f"{where} {needs} {key}, which is {'off' if value is False else 'not given'}",
            f"add {key}{out}",
        )
    if operator in ("is", "in"):
        return f"{key} must not be {_spelled(value)}", f"leave out {key}"
    wanted, got = _wanted(last, read)
    under = f" with {where}" if where else ""
    return (
        f"{key} must {wanted}{under}, but {got}",
        f"write such a value for {key}{out or ', or leave it out'}",
    )


def _wanted(last: Sequence[Any], read: Read) -> tuple[str, str]:
    """(what it must be, what it is instead) of the last term."""
    value, operator = read(last[0]), last[1]
    operand = resolved(last[2], read)
    limit = _limit(last[2], operand)
    was = f"is {_spelled(value)}"
    match operator:
        case "<":
            return f"be at least {limit}", was
        case "<=":
            return f"be above {limit}", was
        case ">":
            return f"be at most {limit}", was
        case ">=":
            return f"be below {limit}", was
        case "no multiple of":
            return f"be a multiple of {limit}", was
        case "has":
            return f"not hold {operand!r}", f"{was}"
        case "longer than":
            return f"have at most {limit} entries", f"has {len(value)}"
        case "first not in":
            return (
                f"begin with {either(operand)}",
                f"begins with {value[0] if isinstance(value, list) else value}",
            )
    wanted = operand if isinstance(operand, list) else [operand]
    return f"be {either(list(dict.fromkeys(wanted)))}", was


def _limit(operand: Any, value: Any) -> str:
    return f"{operand['flag']} {value}" if isinstance(operand, dict) else str(value)


def _setting(term: Sequence[Any], read: Read) -> str:
    """A setting as the condition of another: its name, and its value where that says more."""
    name, value = term[0], read(term[0])
    if name == "target.class":
        return f"a target of class {value}"
    # By identity: 1 is equal to True, and says more.
    if any(value is one for one in (True, None, UNKNOWN)) or isinstance(value, list | dict) or name[0] == "$":
        return flag(name)
    return f"{flag(name)} {_spelled(value)}"


def _spelled(value: Any) -> str:
    if value is None:
        return "not given"
    if isinstance(value, bool):
        return "true" if value else "false"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
