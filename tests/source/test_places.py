"""The place of every key and value, and what the source spelled there."""

from __future__ import annotations

import pytest

from eaglecfg.source.document import Document
from eaglecfg.source.read import parse_document
from eaglecfg.source.span import KeyPath, Span, show_path


def read(text: str) -> Document:
    document = parse_document(text, "x.yaml", ".")
    assert not document.problems
    return document


def cut(document: Document, span: Span) -> str:
    """The text under a span."""
    start, end = span.start, span.end
    if start.line == end.line:
        return document.lines[start.line - 1][start.column - 1 : end.column - 1]
    middle = document.lines[start.line : end.line - 1]
    first = document.lines[start.line - 1][start.column - 1 :]
    return "\n".join([first, *middle, document.lines[end.line - 1][: end.column - 1]])


# text, path, text under the value, text under the key
SPANS: list[tuple[str, KeyPath, str, str | None]] = [
    ("a: 1\n", ("a",), "1", "a"),
    ("a:\n  bcd: two words  # c\n", ("a", "bcd"), "two words", "bcd"),
    ("a: [10, 'x', y]\n", ("a", 1), "'x'", None),
    ("a: [10, 'x', y]\n", ("a",), "[10, 'x', y]", "a"),
    ("a: {b: {c: 1}}\n", ("a", "b"), "{c: 1}", "b"),
    ("- a\n- b: 1\n  c: 2\n# end\n", (1,), "b: 1\n  c: 2", None),
    ("a:\n  b: 1\n\n\n# far below\nc: 2\n", ("a",), "b: 1", "a"),
    ('"a b": "q\\"r"\n', ("a b",), '"q\\"r"', '"a b"'),
    ("a: |\n  one\n  two\n\nb: 1\n", ("a",), "|\n  one\n  two", "a"),
    ("a:\n  b: >-\n    one\n\n    two\n", ("a", "b"), ">-\n    one\n\n    two", "b"),
    ("a: one\n  two\nb: 1\n", ("a",), "one\n  two", "a"),
    ("a: &x 12\n", ("a",), "12", "a"),
    ("a: &x\n  b: 1\n", ("a",), "b: 1", "a"),
    ("a: &x [1]\n", ("a",), "[1]", "a"),
    ("ключ: значение\n", ("ключ",), "значение", "ключ"),
    ("🦅: 🦅x\n", ("🦅",), "🦅x", "🦅"),
    ("a: 1\r\nb: 2\r\n", ("b",), "2", "b"),
    ("a:\tb\n", ("a",), "b", "a"),
    ("a: {b}\n", ("a", "b"), "", "b"),
    ("a:\nb: 1\n", ("a",), "", "a"),
    ("{a: 1}", (), "{a: 1}", None),
]


@pytest.mark.parametrize(("text", "path", "value", "key"), SPANS)
def test_spans_cover_what_was_written(text: str, path: KeyPath, value: str, key: str | None) -> None:
    document = read(text)
    place = document.places[path]
    assert cut(document, place.value) == value
    assert (None if place.key is None else cut(document, place.key)) == key


def test_every_part_of_the_data_has_a_place() -> None:
    document = read("a: [1, {b: [x, ~]}]\nc: {}\nd: []\n")

    def paths(value: object, path: KeyPath) -> set[KeyPath]:
        items = (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        )
        return {path}.union(*(paths(item, (*path, key)) for key, item in items))

    assert set(document.places) == paths(document.data, ())


def test_source_spelling_is_kept_beside_the_value() -> None:
    document = read("a: 2.30\nb: '8'\nc: TRUE\nd: ~\ne: [1e-5]\n")
    assert document.data == {"a": 2.3, "b": "8", "c": True, "d": None, "e": [1e-5]}
    spelled = {show_path(path): place.text for path, place in document.places.items()}
    assert spelled == {"": None, "a": "2.30", "b": "8", "c": "TRUE", "d": "~", "e": None, "e[0]": "1e-5"}
    assert document.places[("b",)].quoted
    assert not document.places[("a",)].quoted


def test_an_alias_has_its_own_place_and_marks_what_it_shares() -> None:
    document = read("a: &x {b: [1]}\nc: *x\nd: {b: [1]}\n")
    assert document.data == {"a": {"b": [1]}, "c": {"b": [1]}, "d": {"b": [1]}}
    assert cut(document, document.places[("c",)].value) == "*x"
    # What is inside can only be edited at the anchor, so that is where it stands.
    assert cut(document, document.places[("c", "b", 0)].value) == "1"
    assert document.places[("c", "b", 0)].value.start.line == 1
    shared = {show_path(path) for path, place in document.places.items() if place.shared}
    assert shared == {"a", "a.b", "a.b[0]", "c", "c.b", "c.b[0]"}


def test_aliased_data_is_not_one_object() -> None:
    document = read("a: &x [1]\nb: *x\n")
    assert document.data["a"] is not document.data["b"]


def test_an_anchor_may_be_used_again_for_another_value() -> None:
    assert read("a: &x 1\nb: *x\nc: &x 2\nd: *x\n").data == {"a": 1, "b": 1, "c": 2, "d": 2}


def test_an_alias_can_be_a_key() -> None:
    assert read("a: &x name\n*x : 1\n").data == {"a": "name", "name": 1}


def test_what_a_merge_key_brings_is_there_in_spite_of_the_problem() -> None:
    text = "a: &a {x: 1, y: 2}\nb: &b {<<: *a, y: 3}\nc: {z: 4, <<: [*b, {w: 5, x: 9}]}\n"
    document = parse_document(text, "x.yaml", ".")
    assert [problem.kind for problem in document.problems] == ["merge-key", "merge-key"]
    assert document.data["b"] == {"y": 3, "x": 1}
    assert document.data["c"] == {"z": 4, "y": 3, "x": 1, "w": 5}
    assert document.places[("c", "x")].shared


def test_the_place_of_a_missing_key_is_its_nearest_parent() -> None:
    document = read("a:\n  b: 1\n")
    assert document.place(("a", "c", 0)) == document.places[("a",)]
    assert document.place(("z",)) == document.places[()]


def test_lines_are_kept_without_their_breaks() -> None:
    document = read("a: 1\r\nb: 2\n")
    assert document.lines == ("a: 1", "b: 2", "")
