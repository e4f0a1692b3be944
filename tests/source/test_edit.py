"""Edits by span on generated files: the data gets the change, and every other line stays as it was."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eaglecfg.source.document import Document
from eaglecfg.source.edit import Edit, Editor, EditRefused, apply_edits
from eaglecfg.source.read import parse_document
from eaglecfg.source.span import KeyPath

NAMES = ["a", "b_c", "d-e", "Ж", "😀", "x y", "key"]
SCALARS = ["1", "text", "'a: b'", '"q\\"uote"', "true", "", "2.5", "[1, 2]", "[]", "{}", "{x: 1, y: [z]}"]


@st.composite
def files(draw: st.DrawFn) -> str:
    """A mapping of mappings, in block or flow style, with comments, blank lines and odd spacing."""
    lines: list[str] = []
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True)):
        lines += draw(st.sampled_from([[], ["# a comment"], [""], ["", "# {not: data}"]]))
        inner = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
        values = [draw(st.sampled_from(SCALARS)) for _ in inner]
        end = draw(st.sampled_from(["", "  # told", "   "]))
        if draw(st.booleans()):
            pairs = ", ".join(f"{key}: {value}" for key, value in zip(inner, values, strict=True))
            lines.append(f"{name}: {{{pairs}}}{end}")
            continue
        lines.append(f"{name}:{end}")
        indent = " " * draw(st.integers(1, 4))
        for key, value in zip(inner, values, strict=True):
            space = draw(st.sampled_from([" ", "   "]))
            lines.append(f"{indent}{key}:{space}{value}".rstrip() + draw(st.sampled_from(["", "  # a note"])))
    text = "\n".join(lines)
    return draw(st.sampled_from([text, text + "\n", text.replace("\n", "\r\n") + "\r\n"]))


def parsed(text: str) -> Document:
    document = parse_document(text, "x.yaml", ".")
    assert document.problems == (), text
    return document


def made(document: Document, edit: Edit) -> Document:
    return parsed(apply_edits(document.text, [edit]))


def changed(before: Document, after: Document) -> int:
    """Lines that stand in one of the two only."""
    old, new = list(before.lines), list(after.lines)
    while old and new and old[0] == new[0]:
        old.pop(0), new.pop(0)
    while old and new and old[-1] == new[-1]:
        old.pop(), new.pop()
    return max(len(old), len(new))


@settings(max_examples=150, deadline=None)
@given(files(), st.data())
def test_a_value_is_set_and_nothing_else(text: str, data: st.DataObject) -> None:
    document = parsed(text)
    path: KeyPath = data.draw(st.sampled_from([path for path in document.places if len(path) == 2]))
    for new, value in (("7", 7), ("LL,Simple", "LL,Simple"), ("[3, 4]", [3, 4]), ("a: b", "a: b"), ("", "")):
        after = made(document, Editor(document).set(path, new))
        wanted = {**document.data, path[0]: {**document.data[path[0]], path[1]: value}}
        assert after.data == wanted
        assert changed(document, after) <= 1
        assert after.text.count("\r") == document.text.count("\r")


@settings(max_examples=150, deadline=None)
@given(files(), st.data())
def test_a_key_is_renamed_removed_and_added(text: str, data: st.DataObject) -> None:
    document = parsed(text)
    path: KeyPath = data.draw(st.sampled_from([path for path in document.places if len(path) == 2]))
    block: dict[str, Any] = dict(document.data[path[0]])
    after = made(document, Editor(document).rename(path, "new"))
    renamed = {("new" if key == path[1] else str(key)): value for key, value in block.items()}
    assert list(after.data[path[0]].items()) == list(renamed.items())
    assert changed(document, after) == 1
    after = made(document, Editor(document).add((path[0], "more"), "x, y"))
    assert after.data == {**document.data, path[0]: {**block, "more": "x, y"}}
    assert changed(document, after) <= 2
    try:
        after = made(document, Editor(document).remove(path))
    except EditRefused:
        assert len(block) == 1
        return
    rest = {key: value for key, value in block.items() if key != path[1]}
    assert after.data == {**document.data, path[0]: rest}
    assert len(document.lines) - len(after.lines) in (0, 1)


@pytest.mark.parametrize(
    ("text", "path", "wanted"),
    [
        ("a: [1, 2, 3]\n", ("a", 1), "a: [1, 3]\n"),
        ("a: [1, 2, 3]\n", ("a", 0), "a: [2, 3]\n"),
        ("a: [1, 2, 3]\n", ("a", 2), "a: [1, 2]\n"),
        ("a:\n- 1\n- 2  # two\n- 3\nb: 1\n", ("a", 1), "a:\n- 1\n- 3\nb: 1\n"),
        ("a:\n  - x: 1\n    y: 2\n  - z: 3\n", ("a", 0), "a:\n  - z: 3\n"),
        ("a:\n  - x: 1\nb: 2\n", ("a", 0), "b: 2\n"),
        ("b: 2\na:\n  - x: 1", ("a", 0), "b: 2"),
        ("a: |\n  text\n  more\nb: 2\n", ("a",), "b: 2\n"),
        ("a:\n  b: >-\n    folded\n    text\n  c: 1\n", ("a", "b"), "a:\n  c: 1\n"),
    ],
)
def test_items_and_blocks_of_text_go_whole(text: str, path: KeyPath, wanted: str) -> None:
    document = parsed(text)
    assert made(document, Editor(document).remove(path)).text == wanted


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("a: 1\n", lambda editor: editor.remove(("a",))),
        ("a: 1\n", lambda editor: editor.set(("b",), "1")),
        ("a: 1\n", lambda editor: editor.rename((), "b")),
        ("a: 1\nb: 2\n", lambda editor: editor.rename(("a",), "b")),
        ("a: 1\n", lambda editor: editor.add(("a",), "2")),
        ("a: |\n  x\n", lambda editor: editor.set(("a",), "1")),
        ("a: [1, # one\n  2]\n", lambda editor: editor.set(("a",), "[3]")),
        ("- a: 1\n  b: 2\n", lambda editor: editor.remove((0, "a"))),
        ("a: {b: 1, # one\n  c: 2}\n", lambda editor: editor.remove(("a", "b"))),
        ("[1, 2]\n", lambda editor: editor.insert((), "a: 1")),
    ],
)
def test_what_cannot_be_edited_by_span_is_refused(text: str, act: Any) -> None:
    with pytest.raises(EditRefused):
        act(Editor(parsed(text)))


def test_changes_that_meet_are_refused() -> None:
    with pytest.raises(EditRefused):
        apply_edits("abc", [Edit(0, 2, "x"), Edit(1, 3, "y")])
    assert apply_edits("abc", [Edit(0, 1, "x"), Edit(1, 1, "-"), Edit(1, 3, "")]) == "x-"


@pytest.mark.parametrize(
    "front", ["!!bool ", "!x ", "!<tag:a,b> ", "! ", "&a !!int ", "!!int &a ", "!!str\n  ", "!!int   "]
)
def test_a_value_behind_a_tag_is_left_alone(front: str) -> None:
    """What is written there would still be read as the tag says."""
    for text in (f"k: {front}6\n", f"k: {{a: {front}6}}\n", f"k:\n- {front}6\n", f"k: [1,{front}6]\n"):
        document = parse_document(text, "x.yaml", ".")
        path = max((path for path, place in document.places.items() if place.text == "6"), key=len)
        with pytest.raises(EditRefused, match=r"the tag ![^ ]* stands in front of the value"):
            Editor(document).set(path, "7")


@pytest.mark.parametrize("text", ["k: 6 # !x\n", "k: {b: hey!, a: 6}\n", "'!k': 6\n", "k: '! '\na: 6\n"])
def test_other_exclamation_marks_are_no_tags(text: str) -> None:
    document = parse_document(text, "x.yaml", ".")
    path = max((path for path, place in document.places.items() if place.text == "6"), key=len)
    edit = Editor(document).set(path, "7")
    assert apply_edits(text, [edit]) == text.replace("6", "7")


def test_a_value_can_be_written_in_place_of_its_alias() -> None:
    document = parse_document('a: &n "6"\nb: *n  # told\nc: [*n, 1]\nd: *n\n', "x.yaml", ".")
    editor = Editor(document)
    edits = [editor.set(path, "7", at_alias=True, as_text=True) for path in [("b",), ("c", 0)]]
    assert apply_edits(document.text, edits) == 'a: &n "6"\nb: 7  # told\nc: [7, 1]\nd: *n\n'
    assert apply_edits(document.text, [editor.set(("a",), "7", at_alias=True)]) == document.text.replace(
        '"6"', "7"
    )


def comments(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip().startswith("# ")]


@settings(max_examples=150, deadline=None)
@given(files(), st.data())
def test_lines_of_comments_outlive_what_stands_around_them(text: str, data: st.DataObject) -> None:
    newline = "\r\n" if "\r\n" in text else "\n"
    lines: list[str] = []
    for number, line in enumerate(text.split(newline)):
        if line and data.draw(st.booleans()):
            lines.append(f"{' ' * data.draw(st.integers(0, 4))}# note {number}")
        lines.append(line)
    document = parsed(newline.join(lines))
    path: KeyPath = data.draw(st.sampled_from([path for path in document.places if path]))
    try:
        after = made(document, Editor(document).remove(path, kept=0))
    except EditRefused:
        return
    assert comments(after.text) == comments(document.text)
    assert after.text.count("\r") == after.text.count("\n") * ("\r\n" in document.text)


@pytest.mark.parametrize(
    ("text", "path", "wanted"),
    [
        ("a:\n  # why\n  b: 1\nc: 2\n", ("a", "b"), "  # why\nc: 2\n"),
        ("c: 2\na:  # told\n  # why\n  b: 1  # note\n", ("a", "b"), "c: 2\n  # why\n"),
        ("c: 2\na:\n  # why\n  b: 1", ("a", "b"), "c: 2\n  # why"),
        ("a:\r\n  # why\r\n  b: 1\r\nc: 2\r\n", ("a", "b"), "  # why\r\nc: 2\r\n"),
        ("a:\n  # 1\n  b:\n    # 2\n    d:\n   # 3\n    e:\nc:\n", ("a",), "  # 1\n    # 2\n   # 3\nc:\n"),
        ("a:\n  - x: 1\n    # why\n    y: 2\n  - z: 3\n", ("a", 0), "a:\n    # why\n  - z: 3\n"),
        ("a: |\n  # text\n  more\nb: 2\n", ("a",), "b: 2\n"),
        ("a:\n  # why\n  b: |\n    # text\n    more\nc: 2\n", ("a",), "  # why\nc: 2\n"),
        ('a: "x\n  # y\n  z"\nb: 2\n', ("a",), "b: 2\n"),
        ("a:\n\n  # why\n\n  b: 1\nc: 2\n", ("a",), "  # why\nc: 2\n"),
    ],
)  # fmt: skip
def test_a_comment_stays_where_its_block_goes(text: str, path: KeyPath, wanted: str) -> None:
    document = parsed(text)
    assert made(document, Editor(document).remove(path, kept=0)).text == wanted
