"""Tables that fold."""

from __future__ import annotations

import pytest

from eaglecfg.report.styled import Part, plain
from eaglecfg.report.table import Table
from eaglecfg.report.text import flowing

HEAD = ("name", "n", "what it is", "remarks")
ROWS = [HEAD, ("one", "1", "a short text", ""), ("two", "1000", "text", "some remarks on two of the rows")]


def shown(width: int) -> str:
    table = Table(ROWS, width, right=(1,))
    return plain([each for row in ROWS for each in table.lines(row)])


def test_a_table_that_fits_has_a_line_for_each_row() -> None:
    assert shown(80) == (
        "  name     n  what it is    remarks\n"
        "  one      1  a short text\n"
        "  two   1000  text          some remarks on two of the rows\n"
    )


def test_the_last_columns_go_below_in_every_row_that_has_them() -> None:
    assert shown(50) == (
        "  name     n  what it is\n"
        "    remarks\n"
        "  one      1  a short text\n"
        "  two   1000  text\n"
        "    some remarks on two of the rows\n"
    )


def test_a_cell_that_fits_no_line_is_wrapped() -> None:
    rows = [("a", "b"), ("x", "one two three four five six seven eight nine ten eleven")]
    table = Table(rows, 40)
    assert plain(table.lines(rows[1])) == (
        "  x\n    one two three four five six seven\n      eight nine ten eleven\n"
    )


def test_wide_characters_count_twice_and_styles_stay_with_their_cells() -> None:
    rows = [("漢字", "1"), ("ab", "2")]
    table = Table(rows, 80)
    assert plain(table.lines(rows[1])) == "  ab    2\n"
    assert next(table.lines(rows[1], "dim", c1="good"))[3] == Part("2", "good")


@pytest.mark.parametrize("width", range(1, 120, 7))
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert max(map(len, shown(width).splitlines())) <= max(width, 40)
    assert sorted(shown(width).split()) == sorted(shown(200).split())


def test_a_part_that_fits_no_line_is_wrapped_among_others() -> None:
    parts = [
        "3 checks: 1 passed",
        "left out as consequences of " + ", ".join(f"EC{n}" for n in range(100, 120)),
    ]
    rows = plain(flowing(parts, 60)).splitlines()
    assert max(map(len, rows)) <= 60
    assert " ".join(" ".join(rows).split()) == " · ".join(parts)
