"""The grammar of NCCL_ALGO and NCCL_PROTO."""

from __future__ import annotations

import pytest

from eaglecfg.nccl.lists import ALGORITHMS, COLLECTIVES, PROTOCOLS, read_list


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("LL", {"LL"}),
        ("ll,SIMPLE", {"LL", "Simple"}),
        ("^LL128", {"LL", "Simple"}),
        ("^LL", {"LL128", "Simple"}),
        ("LL,,Simple", {"LL", "Simple"}),
    ],
)
def test_one_entry_sets_all_collectives(text: str, expected: set[str]) -> None:
    allowed = read_list(text, PROTOCOLS, prefixes=True)
    assert not allowed.troubles
    assert allowed.general
    assert all(allowed.of(one) == expected for one in COLLECTIVES)


def test_entries_name_their_collective_and_leave_the_others_alone() -> None:
    allowed = read_list("AllReduce:tree", ALGORITHMS, prefixes=True)
    assert allowed.of("AllReduce") == {"Tree"}
    assert allowed.of("AllGather") is None
    assert allowed.named
    assert not allowed.general


def test_a_later_entry_wins_over_the_general_one() -> None:
    allowed = read_list("ring,tree;allreduce:nvls,ring", ALGORITHMS, prefixes=True)
    assert allowed.of("AllReduce") == {"NVLS", "Ring"}
    assert allowed.of("Broadcast") == {"Ring", "Tree"}


@pytest.mark.parametrize(
    ("text", "fault", "part"),
    [
        ("Ring,Chain", "element", "Chain"),
        ("ring, tree", "space", " tree"),
        ("allreduce:tree;ring", "entry", "ring"),
        ("ring;all_reduce:tree", "collective", "all_reduce"),
        ("ring; allreduce:tree", "space", " allreduce"),
        ("ring;allreduce:tree:ring", "colon", ":ring"),
        ("ring,^tree", "caret", "^tree"),
    ],
)
def test_faults_from_2_24_on(text: str, fault: str, part: str) -> None:
    (trouble,) = read_list(text, ALGORITHMS, prefixes=True).troubles
    assert (trouble.fault, trouble.part) == (fault, part)


def test_before_2_24_unknown_names_are_dropped_and_collectives_are_unknown() -> None:
    dropped = read_list("Ring,Chain", ALGORITHMS, prefixes=False)
    assert dropped.of("AllReduce") == {"Ring"}
    (trouble,) = read_list("allreduce:tree", ALGORITHMS, prefixes=False).troubles
    assert trouble.fault == "prefix"


def test_an_empty_list_of_the_old_kind_allows_nothing() -> None:
    assert read_list("", ALGORITHMS, prefixes=False).of("AllReduce") == frozenset()
    assert read_list("", ALGORITHMS, prefixes=True).of("AllReduce") is None
