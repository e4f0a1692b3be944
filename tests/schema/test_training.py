"""The training record beside a draft."""

from __future__ import annotations

from typing import Any

import pytest

from eaglecfg.schema.training import read_training


def test_a_record_is_read_with_keys_that_came_later() -> None:
    record, problem = read_training({"version": 1, "boundaries": [3, 31, 59], "ttt_steps": 7, "later": {}})
    assert problem == ""
    assert record is not None
    assert record.boundaries == (3, 31, 59)
    assert record.ttt_steps == 7


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        ({}, "the record needs the key version"),
        ({"version": 1}, "the record needs the key boundaries"),
        ({"version": "1", "boundaries": []}, 'version takes a whole number, not the text "1"'),
        ({"version": 1, "boundaries": "3, 6"}, 'boundaries takes a list, not the text "3, 6"'),
        ({"version": 1, "boundaries": [3, "6"]}, 'boundaries[1] takes a whole number, not the text "6"'),
        ({"version": 1, "boundaries": [3, 6.0]}, "boundaries[1] takes a whole number, not 6.0"),
        ({"version": 1, "boundaries": [True]}, "boundaries[0] takes a whole number, not true"),
        ({"version": 1, "boundaries": None}, "boundaries takes a list, not nothing"),
        ({"version": 1, "boundaries": {"a": 1}}, "boundaries takes a list, not a mapping"),
        ({"version": 1, "boundaries": [1], "ttt_steps": 1.5}, "ttt_steps takes a whole number, not 1.5"),
    ],
)
def test_a_slip_is_one_sentence(raw: dict[str, Any], sentence: str) -> None:
    assert read_training(raw) == (None, sentence)
