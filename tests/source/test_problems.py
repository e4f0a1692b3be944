"""What is wrong with a text, and exactly where: one line per case."""

from __future__ import annotations

import pytest

from eaglecfg.source.document import Document
from eaglecfg.source.read import parse_document

# text, line, column, kind
CASES = [
    ("", 1, 1, "empty-file"),
    ("# nothing\n", 1, 1, "empty-file"),
    ("---\n", None, None, None),
    ("a:\n\tb: 1\n", 2, 1, "tab-indent"),
    ("a:\n  b: 1\n\tc: 2\n", 3, 1, "tab-indent"),
    ("a:\n  \tb: 1\n", 2, 3, "tab-indent"),
    ("a:\tb\n", None, None, None),
    ("a: b: c\n", 1, 5, "syntax"),
    ("a: [1, 2\nb: 3\n", 2, 2, "syntax"),
    ("a: {b: 1\n", 1, 9, "syntax"),
    ('a: "open\n', 1, 4, "syntax"),
    ("a: 'open\n", 1, 4, "syntax"),
    ('a: "\\q"\n', 1, 5, "syntax"),
    ("a: @b\n", 1, 4, "syntax"),
    ("a: `b`\n", 1, 4, "syntax"),
    ('a: "b" c\n', 1, 8, "syntax"),
    ("a:\n  b: 1\n c: 2\n", 3, 2, "syntax"),
    ("a: - b\n", 1, 4, "syntax"),
    ("a: 1\n...\nb\n", 3, 1, "syntax"),
    ("a: [\n", 1, 5, "syntax"),
    ("a: [1,, 2]\n", 1, 7, "syntax"),
    ('a: "\\ud800"\n', 1, 7, "syntax"),
    ('a: "b\n---\nc"\n', 2, 1, "syntax"),
    ("a: |\n\t x\n", 2, 1, "tab-indent"),
    ("%YAML 3.0\n---\na: 1\n", 1, 1, "directive"),
    ("a: &\n", 1, 5, "syntax"),
    ("a: 1\na: 2\n", 2, 1, "duplicate-key"),
    ('a: 1\n"a": 2\n', 2, 1, "duplicate-key"),
    ("x: {a: 1, b: 2, a: 3}\n", 1, 17, "duplicate-key"),
    ("a: &x {b: 1}\nc: {<<: *x}\n", 2, 5, "merge-key"),
    ('a: {"<<": 1}\n', None, None, None),
    ("a: *x\n", 1, 4, "unknown-alias"),
    ("a: *x\nb: &x 1\n", 1, 4, "unknown-alias"),
    ("&a [*a]\n", 1, 5, "cycle"),
    ("a: &a {b: *a}\n", 1, 11, "cycle"),
    ("a: !!int 3\n", 1, 4, "tag"),
    ("a: !x\n  b: 1\n", 1, 4, "tag"),
    ("a: !<tag:x.y,2026:z> 3\n", 1, 4, "tag"),
    ("%YAML 1.2\n---\na: 1\n", 1, 1, "directive"),
    ("%TAG ! tag:x,2026:\n---\na: 1\n", 1, 1, "directive"),
    ("%FOO x\n---\na: 1\n", 1, 5, "directive"),
    ("a: 1\n---\nb: 2\n", 2, 1, "second-document"),
    ("1: a\n", 1, 1, "key-not-text"),
    ("a: {true: b}\n", 1, 5, "key-not-text"),
    ("~: a\n", 1, 1, "key-not-text"),
    ("? [a]\n: b\n", 1, 3, "key-not-text"),
    ("on: a\nno: b\n", None, None, None),
    ("a: 010\n", 1, 4, "ambiguous-number"),
    ("a: [1, 0o10]\n", 1, 8, "ambiguous-number"),
    ("a: 089\n", 1, 4, "ambiguous-number"),
    ("a: -007\n", 1, 4, "ambiguous-number"),
    ('a: "010"\n', None, None, None),
    ("a: 0.10\n", None, None, None),
    (f"a: {'9' * 5000}\n", 1, 4, "number-too-long"),
    (f"a: 0x{'f' * 5000}\n", 1, 4, "number-too-long"),
    ('a: "x\\0y"\n', 1, 4, "control-character"),
    ('a: "\\e[31m"\n', 1, 4, "control-character"),
    ('"a\\x07": 1\n', 1, 1, "control-character"),
    ("a: \x00\n", 1, 4, "control-character"),
    ("a: b\nc: \x1b\n", 2, 4, "control-character"),
    ("a: \ufeff1\n", 1, 4, "control-character"),
    ("a: \ud800\n", 1, 4, "control-character"),
    ("a: b\u2028c\n", 1, 5, "line-separator"),
    ("a: b\x85c\n", 1, 5, "line-separator"),
    ("a: 1\rb: 2\r", 1, 5, "carriage-return"),
    ("a: 1\r\nb: 2\r\n", None, None, None),
    ("a: 1\n<<<<<<< HEAD\nb: 1\n=======\n>>>>>>> x\n", 2, 1, "conflict-marker"),
    ("a: 1\n||||||| base\n", 2, 1, "conflict-marker"),
    ("\ufeffa: 1\n", 1, 1, "byte-order-mark"),
    ("[" * 65 + "]" * 65, 1, 65, "too-deep"),
    ("[" * 2000, 1, 1001, "too-deep"),
    ("? " * 2000, 1, 129, "too-deep"),
]


def read(text: str) -> Document:
    return parse_document(text, "x.yaml", ".")


@pytest.mark.parametrize(("text", "line", "column", "kind"), CASES)
def test_the_problem_stands_where_it_is(text: str, line: int | None, column: int, kind: str) -> None:
    problems = read(text).problems
    found = [(p.span.start.line, p.span.start.column, p.kind) for p in problems]
    assert found[:1] == ([] if line is None else [(line, column, kind)])
    for problem in problems:
        assert problem.message
        assert problem.span.end > problem.span.start


def test_several_problems_show_at_once_in_the_order_of_the_text() -> None:
    document = read("a: 010\nb: !x 1\na: 2\nc: {<<: {d: 1}}\n1: e\n")
    assert [problem.kind for problem in document.problems] == [
        "ambiguous-number",
        "tag",
        "duplicate-key",
        "merge-key",
        "key-not-text",
    ]
    assert document.data == {"a": "010", "b": 1, "c": {"d": 1}, "1": "e"}


def test_a_duplicate_key_shows_both_places_and_keeps_the_first() -> None:
    document = read("a: 1\nb: 2\na: 3\n")
    (problem,) = document.problems
    assert problem.other is not None
    assert (problem.other.start.line, problem.span.start.line) == (1, 3)
    assert document.data == {"a": 1, "b": 2}


def test_the_message_of_an_unclosed_list_names_where_it_began() -> None:
    (problem,) = read("a:\n  b: [1, 2\nc: 3\n").problems
    assert "line 2, column 6" in problem.message


@pytest.mark.parametrize(
    ("text", "readings"),
    [("010", ("8", "10")), ("0o17", ("15", "17")), ("089", ("89",)), ("-010", ("-8", "-10"))],
)
def test_an_ambiguous_number_is_shown_with_its_readings(text: str, readings: tuple[str, ...]) -> None:
    (problem,) = read(f"a: {text}\n").problems
    assert all(reading in problem.help for reading in readings)


def test_nothing_is_said_twice_about_what_stands_at_an_anchor() -> None:
    document = read("a: &a {b: 010, b: 2}\nc: *a\nd: [*a, *a]\n")
    assert [problem.kind for problem in document.problems] == ["ambiguous-number", "duplicate-key"]


def test_a_slip_on_every_line_is_listed_a_hundred_times_at_most() -> None:
    document = read("".join(f"{number}: a\n" for number in range(1000)))
    assert len(document.problems) == 101
    assert document.problems[-1].kind == "too-many-problems"
