from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from eaglecfg.engines.conditions import OPERATORS, plain
from eaglecfg.engines.refusals import refusals
from eaglecfg.engines.table import load_facts
from eaglecfg.schema_files import read_schema

VERSIONS: list[str] = read_schema("engines", "sglang", "versions.json")["versions"]
ROWS: list[dict[str, Any]] = read_schema("engines", "sglang", "refusals.json")["rows"]
WORKED_OUT = {
    "target.class",
    "machine.cuda",
    "prefill.chunk",
    "prefill.backend",
    "decode.backend",
    "attention.dp_size",
    "given.algorithm",
}
NEGATIVE = {"off", "unset"}
"""Operators that hold where a version has no such flag."""


def held(row: dict[str, Any]) -> list[str]:
    last = VERSIONS.index(row["until"]) if "until" in row else len(VERSIONS) - 1
    return VERSIONS[VERSIONS.index(row["since"]) : last + 1]


def test_every_row_has_a_range_a_place_and_the_engines_words_or_a_reason_to_have_none() -> None:
    for row in ROWS:
        assert row["read_in"] in held(row), row
        assert re.fullmatch(r"srt/[\w/]+\.py:\d+", row["source"]), row
        assert set(row) <= {"since", "until", "speculation", "if", "why", "says", "source", "read_in"}, row
        assert row["if"], row


def test_every_term_is_of_the_grammar() -> None:
    for row in ROWS:
        for term in plain(row["if"]):
            assert term[1] in OPERATORS, row
            assert len(term) == (2 if term[1] in ("on", "off", "set", "unset") else 3), row
            assert isinstance(row["if"][-1], list | dict)


def flags_of(row: dict[str, Any]) -> Iterator[str]:
    """Flags without which the row could not hold."""
    for term in plain(row["if"]):
        if term[1] not in NEGATIVE and "." not in term[0] and not term[0].startswith("$"):
            yield term[0]
        for operand in term[2] if len(term) > 2 and isinstance(term[2], list) else term[2:]:
            if isinstance(operand, dict):
                yield operand["flag"]


@pytest.mark.parametrize("version", VERSIONS)
def test_rows_of_a_version_name_flags_that_it_has(version: str) -> None:
    facts = load_facts("sglang", version)
    assert facts is not None
    rows = [row for row in ROWS if version in held(row)]
    assert {name for row in rows for name in flags_of(row) if name not in facts.flags} == set()
    assert len(refusals(facts)) == len(rows)
    assert len(rows) > 20


def test_names_with_a_dot_are_those_that_are_worked_out() -> None:
    dotted = {term[0] for row in ROWS for term in plain(row["if"]) if "." in term[0]}
    assert dotted <= WORKED_OUT


def test_choices_that_a_row_names_are_choices_of_the_flag() -> None:
    """A value that no parser takes would never come up."""
    strays = []
    for row in ROWS:
        facts = load_facts("sglang", row["read_in"])
        assert facts is not None
        for term in plain(row["if"]):
            flag = facts.flags.get(term[0])
            if flag is None or flag.choices is None or term[1] not in ("is", "in", "not"):
                continue
            wanted = term[2] if isinstance(term[2], list) else [term[2]]
            strays += [
                (term[0], one) for one in wanted if not isinstance(one, dict) and str(one) not in flag.choices
            ]
    assert strays == []


GONE = {
    "Currently speculative MoE runner backend doesn": "drafts run flashinfer_trtllm",
    "only supported with speculative_algorithm == EAGLE": "the flag is gone",
    "is incompatible with --enable-deterministic-inference": "the draws are seeded on CUDA",
    "is not supported with multi-layer EAGLE": "refused for trees alone, which has a row of its own rule",
    "Multi-item scoring requires radix cache to be disabled": "the flag is gone, and enable_mis switches it",
    "Multi-item scoring requires chunked prefill to be disabled": "the flag is gone, enable_mis switches it",
    "requires at least one encoder urls": "encoders may register later, which is logged",
    "--enable-prefill-context-parallel and --enable-nsa-prefill-context-parallel are mutually": "flags gone",
    "Elastic EP rejoin requires elastic_ep_backend": "the flag is another spelling of a join mode",
    "Cannot set --disaggregation-decode-tp for the decode": "the flag is gone",
    "Cannot set --disaggregation-decode-dp for the decode": "the flag is gone",
    "ecode context parallel": "drafts run beside it",
    "requires a linear draft chain": "the flag has another name, with a row of its own",
}
"""Checks that end, and why nothing comes after them: read in the next wheel, not only missed in a file."""


def settings_of(row: dict[str, Any]) -> set[str]:
    """What the user switched on that leads to the check."""
    return {term[0] for term in plain(row["if"]) if term[1] in ("on", "is", "not in", "set", "in")}


def test_a_check_that_ends_goes_on_in_another_row_or_was_seen_to_end() -> None:
    """A check that moves to another file is easily taken for one that is gone."""
    lost = []
    for row in ROWS:
        if "until" not in row or row["until"] == VERSIONS[-1] or row["says"] in GONE:
            continue
        after = VERSIONS[VERSIONS.index(row["until"]) + 1]
        heirs = [
            other
            for other in ROWS
            if other["since"] == after and settings_of(other) & settings_of(row) - {"speculative_algorithm"}
        ]
        if not heirs:
            lost.append(row["says"])
    assert lost == []


def test_reasons_for_an_end_are_about_rows_that_end() -> None:
    assert {row["says"] for row in ROWS if "until" in row} >= set(GONE)
