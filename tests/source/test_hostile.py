"""Text made to exhaust its reader ends in a problem, within bounds on memory and processor time."""

from __future__ import annotations

import itertools
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eaglecfg.source.document import Document
from eaglecfg.source.read import parse_document

_LETTERS = "abcdefghijkl"
LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in itertools.pairwise(_LETTERS)
)
MERGES = "a: &b0 {x: 1}\n" + "".join(
    f"m{level}: &b{level + 1} {{<<: [*b{level}, *b{level}]}}\n" for level in range(40)
)
DEEP_ALIASES = "".join(" " * level + f"k: &k{level}\n" for level in range(60)) + " " * 60 + "x: 1\n" + "z: ["

HOSTILE = {
    "laughs": (LAUGHS, "too-many-values"),
    "merges": (MERGES, "too-many-values"),
    "aliases": ("- &a 1\n" + "- *a\n" * 150_000, "too-many-values"),
    "deep aliases": (DEEP_ALIASES + "*k0," * 100_000 + "]", "too-many-values"),
    "values": ("[" + "1," * 500_000 + "]", "too-many-values"),
    "keys": ("".join(f"{number}: 1\n" for number in range(45_000)), "key-not-text"),
    "duplicates": ("a: 1\n" * 45_000, "duplicate-key"),
    "tags": ("- !a 1\n" * 95_000, "tag"),
    "cycles": ("- &a [*a, *a]\n" * 20_000, "cycle"),
    "alias depth": ("a: &x " + "[" * 60 + "]" * 60 + "\nb: " + "[" * 50 + "*x" + "]" * 50, "too-deep"),
    "braces": ("{" * 100_000, "too-deep"),
    "indents": ("- " * 100_000, "too-deep"),
    "question marks": ("? " * 100_000, "too-deep"),
    "anchors": ("&a " * 100_000, "syntax"),
    "quote": ('"' + "x" * 900_000, "syntax"),
    "colons": (":" * 900_000, "syntax"),
    "digits": ("a: " + "9" * 900_000, "number-too-long"),
    "octal digits": ("a: 0" + "1" * 900_000, "ambiguous-number"),
    "key": ('"' + "k" * 900_000 + '": 1', "syntax"),
    "directives": ("%A b\n" * 100_000, "directive"),
    "control": ("a: 1\n" * 100_000 + "\x01", "control-character"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_a_problem(name: str) -> None:
    text, kind = HOSTILE[name]
    document = parse_document(text, "x.yaml", ".")
    assert kind in {problem.kind for problem in document.problems}
    assert len(document.problems) <= 101
    assert all(len(problem.message) < 400 for problem in document.problems)


def test_long_lines_without_a_fault_are_read() -> None:
    assert parse_document("a:" + " " * 900_000 + "1", "x.yaml", ".").data == {"a": 1}
    assert parse_document("\n" * 900_000 + "a: 1", "x.yaml", ".").data == {"a": 1}
    assert parse_document("a: 1 " + "#" * 900_000, "x.yaml", ".").data == {"a": 1}


@pytest.mark.parametrize("name", ["laughs", "deep aliases", "tags", "keys", "merges"])
def test_the_worst_stay_within_512_mib_and_5_processor_seconds(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(HOSTILE[name][0], encoding="utf-8")

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))
        resource.setrlimit(resource.RLIMIT_CPU, (5, 5))

    code = (
        "import sys, pathlib; from eaglecfg.source.read import read_document\n"
        "print(','.join(sorted({p.kind for p in read_document(pathlib.Path(sys.argv[1])).problems})))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        preexec_fn=bound,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert HOSTILE[name][1] in run.stdout


_PIECES = st.sampled_from(
    [*"abc01:-?,[]{}#&*!|>'\"%@`<\\\t\n ~", "\n  ", ": ", "- ", "<<: ", "*a", "&a ", "010", "---\n", "...\n"]
)
_TEXT = st.one_of(st.lists(_PIECES, max_size=60).map("".join), st.text(max_size=80))


def check(document: Document) -> None:
    """What holds for every document, whatever the text."""
    paths = set(document.places)
    assert document.data is None or () in paths
    for problem in document.problems:
        assert problem.kind
        assert 1 <= problem.span.start.line <= max(1, len(document.lines))
        assert problem.span.start <= problem.span.end
    for path, place in document.places.items():
        assert path == () or path[:-1] in paths
        assert place.value.start <= place.value.end
        value = document.data
        for part in path:
            value = value[part]
        assert (place.text is None) == isinstance(value, list | dict)


@settings(max_examples=400, deadline=None)
@given(_TEXT)
def test_any_text_gives_a_document(text: str) -> None:
    document = parse_document(text, "x.yaml", ".")
    assert document.data is not None or document.problems or document.places
    check(document)


_PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(_PLAIN)
def test_json_is_read_as_it_was_written(data: object) -> None:
    import json

    document = parse_document(json.dumps(data), "x.yaml", ".")
    check(document)
    refused = {problem.kind for problem in document.problems}
    assert refused <= {"control-character", "syntax"}
    if not refused:
        assert document.data == data
