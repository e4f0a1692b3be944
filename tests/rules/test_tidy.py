from __future__ import annotations

from eaglecfg.rules.model import Evidence, Finding
from eaglecfg.rules.tidy import LONGEST, MOST_VALUES, tidied, tidy


def test_ordinary_findings_stay_as_they_are() -> None:
    finding = Finding("tp_size is 3, but 4 is expected", why="heads divide", values={"tp_size": 3})
    assert tidied(finding) is finding


def test_long_text_keeps_its_two_ends() -> None:
    text = tidy("first " + "word " * 1000 + "last")
    assert text.startswith("first ")
    assert text.endswith(" last")
    assert len(text) <= LONGEST


def test_a_long_word_leaves_room_for_the_sentence_around_it() -> None:
    assert tidy(f"draft/config.json has {'x' * 9000}, not silu").endswith(", not silu")


def test_control_and_direction_characters_are_escaped() -> None:
    finding = Finding("a\u202eb", help="c\nd", evidence=(Evidence("f", "k", "\x1b[31m"),))
    assert tidied(finding).message == "a\\u202eb"
    assert tidied(finding).help == "c\\nd"
    assert tidied(finding).evidence[0].text == "\\x1b[31m"


def test_values_are_cut_where_nobody_reads_on() -> None:
    values = tidied(Finding("x", values={"ids": list(range(10_000)), "word": "y" * 10_000, "n": 3})).values
    assert values == {"ids": list(range(MOST_VALUES)), "word": "y" * MOST_VALUES, "n": 3}
