from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from eaglecfg.engines.conditions import UNKNOWN, holds, names

HERE = {
    "on": True,
    "off": False,
    "none": None,
    "four": 4,
    "text": "4",
    "word": "lof",
    "list": ["a", "b"],
    "empty": [],
    "who": UNKNOWN,
}


@pytest.mark.parametrize(
    ("term", "found"),
    [
        (["on", "on"], True),
        (["off", "on"], False),
        (["none", "off"], True),
        (["none", "set"], False),
        (["none", "unset"], True),
        (["who", "on"], None),
        (["four", "is", 4], True),
        (["text", "is", 4], True),
        (["four", "not", 4.0], False),
        (["word", "in", ["fcfs", "lof"]], True),
        (["word", "not in", ["fcfs"]], True),
        (["none", "not in", ["fcfs"]], False),
        (["none", "not in or unset", ["fcfs"]], True),
        (["four", "<", 5], True),
        (["four", "<=", 4], True),
        (["four", ">", 4], False),
        (["text", ">=", 4], True),
        (["none", "<", 5], False),
        (["word", "<", 5], None),
        (["four", "no multiple of", 3], True),
        (["four", "no multiple of", 2], False),
        (["four", "no multiple of", 0], None),
        (["four", "no multiple of", {"flag": "text"}], False),
        (["four", "no multiple of", {"flag": "none"}], None),
        (["four", "not in", [1, {"flag": "text"}]], False),
        (["four", "not in", [1, {"flag": "who"}]], None),
        (["word", "has", "o"], True),
        (["list", "has", "a"], True),
        (["list", "has", "c"], False),
        (["word", "begins", ["l", "x"]], True),
        (["word", "not begins", ["l"]], False),
        (["list", "longer than", 1], True),
        (["word", "longer than", 1], False),
        (["list", "first not in", ["a"]], False),
        (["list", "first not in", ["b"]], True),
        (["empty", "first not in", ["b"]], False),
        (["empty", "longer than", 0], False),
        (["empty", "has", "a"], False),
        (["empty", "on"], False),
        ({"any": [[["off", "on"]], [["on", "on"]]]}, True),
        ({"any": [[["off", "on"]], [["who", "on"]]]}, None),
        ({"any": [[["off", "on"]], [["none", "set"]]]}, False),
    ],
)
def test_a_term_holds_does_not_or_is_open(term: Any, found: bool | None) -> None:
    assert holds([term], HERE.__getitem__) is found


@pytest.mark.parametrize(
    ("terms", "found"),
    [
        ([["on", "on"], ["who", "on"]], None),
        ([["off", "on"], ["who", "on"]], False),
        ([["who", "on"], ["off", "on"]], False),
        ([], True),
    ],
)
def test_what_is_false_outweighs_what_is_open(terms: Sequence[Any], found: bool | None) -> None:
    assert holds(terms, HERE.__getitem__) is found


def test_an_operator_that_nobody_knows_is_a_fault_of_the_facts() -> None:
    with pytest.raises(ValueError, match="roughly"):
        holds([["four", "roughly", 4]], HERE.__getitem__)


def test_names_are_those_of_alternatives_and_operands_too() -> None:
    terms = [{"any": [[["a", "on"]], [["b", "<", {"flag": "c"}]]]}, ["d", "in", [1, {"flag": "e"}]]]
    assert list(names(terms)) == ["a", "b", "c", "d", "e"]
