"""Variables whose text is a word, or words in a grammar of their own."""

from __future__ import annotations

import re

from eaglecfg.nccl.facts import VariableFact, related
from eaglecfg.nccl.parsed import Parsed, Problem
from eaglecfg.nccl.version import at_least, before

LEVELS = ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")
"""Distances between two devices, nearest first."""

CAREFUL_SUBSYSTEMS_SINCE = "2.30"
"""From here on one unknown name drops the whole of NCCL_DEBUG_SUBSYS."""


def parse_level(fact: VariableFact, text: str, version: str) -> Parsed:
    """NCCL_P2P_LEVEL and NCCL_NET_GDR_LEVEL: a name in upper case, or an old number."""
    del version
    names = ", ".join(LEVELS)
    if text in LEVELS:
        return Parsed(fact.name, text, text, text)
    if text[0].isascii() and text[0].isdigit():
        digits = re.match(r"[0-9]+", text)
        number = min(int(digits[0]), 4) if digits and len(digits[0]) < 10 else 4
        level = fact.get("numbers")[str(number)]
        problem = Problem("number", f"NCCL takes it as {level}", f"a name: {names}", fixed=level)
        return Parsed(fact.name, text, level, level, (problem,))
    default = f"its default ({fact.get('default')})"
    meant = text.strip().upper()
    fixed = meant if meant in LEVELS else None
    code = "case" if fixed else "word"
    problem = Problem(code, f"NCCL uses {default} without a word", f"one of {names}", fixed=fixed)
    return Parsed(fact.name, text, None, default, (problem,))


def parse_word(fact: VariableFact, text: str, version: str) -> Parsed:
    """A variable with a fixed set of words."""
    del version
    words = fact.get("words")
    if text in words or (fact.get("caseless") and text.upper() in words):
        return Parsed(fact.name, text, text.upper(), text.upper())
    instead = fact.get("outside_is")
    fixed = text.strip().upper() if text.strip().upper() in words else None
    problem = Problem(
        "case" if fixed else "word",
        f"NCCL drops it without a word: {instead}",
        "one of " + ", ".join(words),
        fixed=fixed,
    )
    return Parsed(fact.name, text, None, str(instead), (problem,))


def parse_subsystems(fact: VariableFact, text: str, version: str) -> Parsed:
    """NCCL_DEBUG_SUBSYS: names between commas, all of them inverted by a leading ``^``."""
    words = fact.get("words")
    given = [part for part in text.removeprefix("^").split(",") if part]
    unknown = [part for part in given if part.upper() not in words]
    if not unknown:
        return Parsed(fact.name, text, text, text)
    if at_least(version, CAREFUL_SUBSYSTEMS_SINCE):
        taken, outcome = None, f"NCCL {version} drops the whole value and logs {fact.get('default')}"
    else:
        rest = ",".join(part for part in given if part not in unknown)
        taken, outcome = rest, f"NCCL skips it{'' if rest else ', and nothing is left to log'}"
    clean = "".join(text.split())
    able = all(part.upper() in words for part in clean.removeprefix("^").split(",") if part)
    fixed = clean if able and clean.strip("^,") else None
    problems = tuple(
        Problem("word", outcome, "one of " + ", ".join(words), part, fixed=fixed) for part in unknown
    )
    return Parsed(fact.name, text, taken, taken or str(fact.get("default")), problems)


def parse_thresholds(fact: VariableFact, text: str, version: str) -> Parsed:
    """NCCL_THREAD_THRESHOLDS: up to six whole numbers between spaces, read with sscanf."""
    del version
    expected = "one to six whole numbers between spaces"
    taken: list[int] = []
    for word in text.split():
        number = re.match(r"[+-]?[0-9]{1,18}", word)
        if number is None:
            break
        taken.append(int(number[0]))
        if number[0] != word:
            break
    taken = taken[:6]
    if re.fullmatch(r"\s*[0-9]{1,18}(\s+[0-9]{1,18}){0,5}\s*", text):
        return Parsed(fact.name, text, tuple(taken), " ".join(map(str, taken)))
    shown = " ".join(map(str, taken)) or "no number"
    clean = " ".join(text.replace(",", " ").replace(";", " ").split())
    fixed = clean if re.fullmatch(r"[0-9]{1,18}( [0-9]{1,18}){0,5}", clean) else None
    problem = Problem("word", f"NCCL takes {shown} from it and ignores the rest", expected, fixed=fixed)
    return Parsed(fact.name, text, tuple(taken), shown, (problem,))


def parse_policy(fact: VariableFact, text: str, version: str) -> Parsed:
    """NCCL_CTA_POLICY: names joined by ``|`` (2.29 and later), or the old 0, 1 and 2."""
    names = ("DEFAULT", "EFFICIENCY", "ZERO")
    if re.fullmatch(r"[0-2]", text):
        return Parsed(fact.name, text, (names[int(text)],), names[int(text)])
    if not at_least(version, fact.get("words_since")):
        problem = Problem("word", f"NCCL {version} reads a number here, and this one as 0", "0, 1 or 2")
        return Parsed(fact.name, text, ("DEFAULT",), "DEFAULT", (problem,))
    given = text.split("|")
    known = [part for part in given if part in names]
    expected = "DEFAULT, EFFICIENCY or ZERO"
    problems = [
        Problem("word", "NCCL says so in its log and ignores it", expected, part)
        for part in given
        if part not in names
    ]
    if {"EFFICIENCY", "ZERO"} <= set(known):
        problems.append(Problem("word", "NCCL warns and drops EFFICIENCY", "one of the two", "EFFICIENCY"))
        known = [part for part in known if part != "EFFICIENCY"]
    return Parsed(fact.name, text, tuple(known), "|".join(known) or "DEFAULT", tuple(problems))


def parse_kernel(fact: VariableFact, text: str, version: str) -> Parsed:
    """NCCL_SYM_KERNEL: one kernel by its exact name, or ``^`` and the one that shall not run."""
    earlier = fact.get("words_before", {})
    kernels = next((words for limit, words in earlier.items() if before(version, limit)), fact.get("words"))
    name = text.removeprefix("^")
    if name in kernels:
        return Parsed(fact.name, text, text, text)
    near = next((one for one in kernels if one.lower() == name.strip().lower()), None)
    problem = Problem(
        "case" if near else "word",
        "NCCL turns all symmetric kernels off, without a word",
        "the exact name of a kernel, such as " + kernels[0],
        fixed=near and text.replace(name, near),
    )
    return Parsed(fact.name, text, None, "no symmetric kernel at all", (problem,))


def parse_network(fact: VariableFact, text: str, version: str) -> Parsed:
    """NCCL_NET: IB, Socket, or the name that a plug-in gives its network; case does not matter."""
    del version
    known = ("IB", "Socket", *related()["networks"])
    found = next((one for one in known if one.lower() == text.lower()), None)
    if found is not None:
        return Parsed(fact.name, text, found, found)
    guess = {
        "infiniband": "IB",
        "roce": "IB",
        "rdma": "IB",
        "ibverbs": "IB",
        "tcp": "Socket",
        "ethernet": "Socket",
    }
    problem = Problem(
        "word",
        "NCCL finds no such network and stops at initialisation",
        "IB, Socket, or the name that a plug-in gives its network",
        fixed=guess.get(text.strip().lower()),
    )
    return Parsed(fact.name, text, None, "no network at all", (problem,))


def parse_netdevs(fact: VariableFact, text: str, version: str) -> Parsed:
    """NCCL_NETDEVS_POLICY: AUTO, ALL, or MAX: and a number."""
    del version
    if re.fullmatch(r"AUTO|ALL|MAX:[1-9][0-9]{0,3}", text):
        return Parsed(fact.name, text, text, text)
    problem = Problem("word", "NCCL uses AUTO", "AUTO, ALL or MAX:N")
    return Parsed(fact.name, text, None, "AUTO", (problem,))
