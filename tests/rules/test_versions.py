"""Sets of versions in words, as findings print them."""

from __future__ import annotations

from eaglecfg.rules.versions import in_words

KNOWN = ("0.5.9", "0.5.10", "0.5.11", "0.5.12", "0.5.13")


def test_all_from_one_on() -> None:
    assert in_words(KNOWN, ["0.5.11", "0.5.12", "0.5.13"]) == "0.5.11 and later"


def test_a_closed_range() -> None:
    assert in_words(KNOWN, ["0.5.9", "0.5.10"]) == "0.5.9 to 0.5.10"


def test_gaps_make_several_ranges() -> None:
    assert in_words(KNOWN, ["0.5.9", "0.5.11", "0.5.12", "0.5.13"]) == "0.5.9, 0.5.11 and later"


def test_the_newest_alone_is_no_range() -> None:
    assert in_words(KNOWN, ["0.5.13"]) == "0.5.13"


def test_none_is_empty() -> None:
    assert in_words(KNOWN, []) == ""
