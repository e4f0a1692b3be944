"""Every printf format of the facts, filled in, is read by the pattern beside it."""

from __future__ import annotations

import re

import pytest

from eaglecfg.nccl.facts import variable_fact
from eaglecfg.nccl.log import evidence
from eaglecfg.nccl.log.collect import _HANDLERS
from eaglecfg.nccl.log.facts import forms, log_facts, says_when_read
from eaglecfg.tune.standin.nccl_lines import NUMBERS, nccl_lines
from tests.nccl_log.conftest import EVERYTHING, read, said, written

_CONVERSION = re.compile(r"%0?(\d*)(?:\.\d)?(l{0,2}|z)([dxuspfgi])")
_TEXTS = {
    "%s: %ld Bytes": "AllReduce",
    "[Symmetric]": "AllReduce",
    "CE]": "AllGather",
    "Engine]": "AllGather",
    "opCount": "AllReduce",
}


def filled(text: str) -> str:
    """A printf format with plausible values."""
    words = iter(
        ["AllReduce", "RING", "LL"]
        if "Algo" in text
        else ["AllReduce", "AllReduce_AGxLL_R"]
        if "Kernel" in text
        else ["NCCL_NTHREADS", "SYS"]
        if text.startswith("%s set by")
        else ["NCCL_NTHREADS"]
        if text.startswith("Invalid %s")
        else ["4M", "NCCL_BUFFSIZE"]
        if text.startswith("Invalid value %s for %s")
        else ["CUMEM", "/read", ""]
        if "P2P/%s" in text
        else ["IB", "/GDRDMA", "", "", "", ""]
        if "NET/%s" in text
        else ["NVL", "PIX"]
        if "Pattern" in text
        else ["ncclCommInitRankConfig"]
        if "Init" in text
        else ["not "]
        if "multicast" in text
        else ["AllGather", "x"]
    )

    def one(found: re.Match[str]) -> str:
        kind = found[3]
        if kind == "s":
            return next(words, "x")
        if kind == "p":
            return "0x5581c0d0"
        if kind in "fg":
            return "12.5"
        return "1f" if kind == "x" else "2"

    return _CONVERSION.sub(one, text)


FORMATS = [
    (row["name"], row["pattern"], each["text"]) for row in log_facts()["lines"] for each in row["formats"]
]


@pytest.mark.parametrize(("name", "pattern", "text"), FORMATS, ids=[each[2][:60] for each in FORMATS])
def test_a_format_of_the_library_is_read(name: str, pattern: str, text: str) -> None:
    line = filled(text)
    if name in ("algorithms", "costs"):  # the formats are those of single cells
        line = {"algorithms": f"  Algorithm   |{line}", "costs": f"    AllReduce |{line}"}[name]
    assert re.search(pattern, line), line


def test_the_needle_of_a_form_stands_in_all_its_lines() -> None:
    for row in log_facts()["lines"]:
        for each in row["formats"]:
            if row["name"] not in ("algorithms", "costs", "refused"):
                assert row["needle"] in filled(each["text"]), each


def test_every_form_has_a_handler_and_every_variable_a_reader() -> None:
    assert {form.name for form in forms()} - {"version"} == set(_HANDLERS)
    for name, (reader, token) in log_facts()["shown_by"].items():
        assert reader in evidence._READERS
        assert token in ("TUNING", "INIT")
        assert variable_fact(name) is not None, name


def test_formats_name_libraries_that_were_read() -> None:
    libraries = log_facts()["libraries"]
    for row in log_facts()["lines"]:
        for each in row["formats"]:
            assert each["seen_in"]
            assert set(each["seen_in"]) <= set(libraries)
    for name, row in log_facts()["said"].items():
        assert name.startswith("NCCL_")
        assert {row["since_seen"], row["last_seen"]} <= set(libraries)


def test_whole_numbers_are_always_said_and_words_by_version() -> None:
    assert says_when_read("NCCL_NTHREADS", "int", "2.27.5")
    assert says_when_read("NCCL_P2P_LEVEL", "level", "2.27.5")
    assert not says_when_read("NCCL_SYM_KERNEL", "kernel", "2.30.7")
    assert says_when_read("NCCL_SYM_KERNEL", "kernel", "2.31.2")


def test_the_stand_in_writes_lines_of_the_library_and_nothing_else() -> None:
    lines = written(NCCL_PROTO="LL", NCCL_P2P_LEVEL="SYS", **dict.fromkeys(NUMBERS, "1"))
    known = [form.pattern for form in forms()]
    for line in lines:
        text = line.partition("NCCL INFO ")[2]
        assert any(pattern.search(text) for pattern in known) or text.startswith("cudaDriverVersion"), text
    assert read(lines).cut == 0


def test_the_stand_in_is_silent_without_a_log_and_keeps_to_the_subsystems() -> None:
    assert nccl_lines({}, 2, 1) == []
    assert nccl_lines({"NCCL_DEBUG": "WARN"}, 2, 1) == []
    assert not [line for line in nccl_lines({"NCCL_DEBUG": "INFO"}, 2, 1) if "Bytes ->" in line]
    assert [line for line in nccl_lines(EVERYTHING, 2, 1) if "Bytes ->" in line]


def test_said_is_what_nccl_writes() -> None:
    assert said("x") == ["box:7:7 [0] NCCL INFO x"]
