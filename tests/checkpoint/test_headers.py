"""Every way in which a safetensors header can be wrong is named, with the file and the place."""

from __future__ import annotations

import json
import struct
import time
from pathlib import Path
from typing import Any

import pytest
from safetensors import SafetensorError, safe_open

from eaglecfg.checkpoint.limits import FIRST_READ, FORMAT_HEADER_BYTES, MAX_HEADER_BYTES
from tests.checkpoint.files import entry, folder_with, kinds, packed, read

GOOD = {"a": entry("F32", [2, 2], 0, 16), "b": entry("BF16", [3], 16, 22)}
A = '"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}'
TWICE = f"{{{A},{A}}}"

REFUSED: list[tuple[str, bytes, str, str]] = [
    ("empty file", b"", "truncated", "is empty"),
    ("seven bytes", b"\1\0\0\0\0\0\0", "truncated", "has 7 bytes"),
    ("length beyond the file", struct.pack("<Q", 500) + b"{}", "truncated", "500 bytes, but 2 bytes follow"),
    ("length of exabytes", b"\xff" * 8 + b"{}", "malformed", "18,446,744,073,709,551,615"),
    (
        "length above the format",
        struct.pack("<Q", FORMAT_HEADER_BYTES + 1),
        "malformed",
        "allows 100,000,000",
    ),
    ("length zero", struct.pack("<Q", 0) + b"{}", "malformed", "0 bytes; the shortest has 2"),
    ("zip archive", b"PK\x03\x04" + b"\0" * 40, "malformed", "zip archive"),
    ("web page", b"<!DOCTYPE html><html></html>", "malformed", "web page"),
    ("gguf", b"GGUF" + b"\0" * 40, "malformed", "GGUF"),
    (
        "lfs pointer",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
        "lfs-pointer",
        "git lfs pull",
    ),
    ("not JSON", packed("{,}"), "malformed", "line 1, column 2"),
    ("nothing after the object", packed("{}x"), "malformed", "extra data"),
    ("zeros after the object", packed("{}\0\0"), "malformed", "not JSON"),
    ("byte-order mark", packed(b"\xef\xbb\xbf{}"), "malformed", "byte 8"),
    ("not UTF-8", packed(b'{"\xff": 1}'), "malformed", "byte 2"),
    ("a list", packed("[]"), "malformed", "byte 8"),
    ("deep nesting", packed('{"a":' + "[" * 5000 + "]" * 5000 + "}"), "malformed", "nested too deeply"),
    ("half a character", packed('{"\\ud800":' + A[4:] + "}", 1), "malformed", "half of a character"),
    ("NaN", packed('{"a":{"dtype":"U8","shape":[NaN],"data_offsets":[0,1]}}', 1), "malformed", "shape"),
    (
        "huge number",
        packed('{"a":{"dtype":"U8","shape":[' + "9" * 5000 + '],"data_offsets":[0,1]}}', 1),
        "malformed",
        "digits",
    ),
    ("tensor twice", packed(TWICE, 1), "duplicate-tensor", "names a twice"),
    (
        "field twice",
        packed('{"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}}', 1),
        "malformed",
        "dtype twice",
    ),
    (
        "metadata twice",
        packed('{"__metadata__":{},"__metadata__":{},' + A + "}", 1),
        "malformed",
        "__metadata__ twice",
    ),
    ("metadata of numbers", packed('{"__metadata__":{"a":1},' + A + "}", 1), "malformed", "__metadata__"),
    ("entry is a number", packed('{"a":1}'), "malformed", "a number"),
    ("no dtype", packed('{"a":{"shape":[1],"data_offsets":[0,1]}}', 1), "malformed", "no dtype"),
    ("no shape", packed('{"a":{"dtype":"U8","data_offsets":[0,1]}}', 1), "malformed", "no shape"),
    ("no offsets", packed('{"a":{"dtype":"U8","shape":[1]}}', 1), "malformed", "no data_offsets"),
    (
        "dtype is a number",
        packed('{"a":{"dtype":8,"shape":[1],"data_offsets":[0,1]}}', 1),
        "malformed",
        "as dtype",
    ),
    (
        "dtype is null",
        packed('{"a":{"dtype":null,"shape":[1],"data_offsets":[0,1]}}', 1),
        "malformed",
        "null as dtype",
    ),
    (
        "shape is a number",
        packed('{"a":{"dtype":"U8","shape":1,"data_offsets":[0,1]}}', 1),
        "malformed",
        "shape",
    ),
    (
        "shape is text",
        packed('{"a":{"dtype":"U8","shape":"1","data_offsets":[0,1]}}', 1),
        "malformed",
        "shape",
    ),
    (
        "shape of true",
        packed('{"a":{"dtype":"U8","shape":[true],"data_offsets":[0,1]}}', 1),
        "malformed",
        "shape",
    ),
    (
        "shape of a fraction",
        packed('{"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}}', 1),
        "malformed",
        "shape",
    ),
    ("negative shape", packed({"a": entry("U8", [-1, -1], 0, 1)}, 1), "malformed", "whole numbers from 0"),
    ("shape beyond memory", packed({"a": entry("U8", [2**62, 2**62], 0, 1)}, 1), "malformed", "no memory"),
    (
        "three offsets",
        packed('{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}}', 1),
        "malformed",
        "data_offsets",
    ),
    ("offsets reversed", packed({"a": entry("U8", [1], 1, 0)}, 1), "malformed", "begin ≤ end"),
    ("negative offset", packed({"a": entry("U8", [2], -1, 1)}, 1), "malformed", "data_offsets"),
    (
        "shape and size differ",
        packed({"a": entry("F32", [3], 0, 16)}, 16),
        "malformed",
        "16 bytes, but F32 [3] takes 12",
    ),
    ("half a byte", packed({"a": entry("F4", [3], 0, 2)}, 2), "malformed", "12 bits"),
    (
        "hole",
        packed({"a": entry("U8", [1], 0, 1), "b": entry("U8", [1], 2, 3)}, 3),
        "malformed",
        "byte 1 was due, 2",
    ),
    (
        "overlap",
        packed({"a": entry("U8", [2], 0, 2), "b": entry("U8", [2], 1, 3)}, 3),
        "malformed",
        "overlaps",
    ),
    (
        "same bytes twice",
        packed({"a": entry("U8", [2], 0, 2), "b": entry("U8", [2], 0, 2)}, 2),
        "malformed",
        "overlaps",
    ),
    ("first offset not 0", packed({"a": entry("U8", [1], 4, 5)}, 5), "malformed", "before a"),
    ("bytes after the end", packed(GOOD, 30), "malformed", "8 bytes after its last tensor"),
    ("cut off in the data", packed(GOOD, 21), "truncated", "its header describes"),
]


@pytest.mark.parametrize(("content", "kind", "text"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_broken_file_is_named(content: bytes, kind: str, text: str, tmp_path: Path) -> None:
    folder_with(tmp_path, {"model.safetensors": content})
    facts = read(tmp_path)
    assert kinds(facts) == [kind]
    problem = facts.problems[0]
    assert (facts.names is None) == problem.incomplete
    assert problem.file == "model/model.safetensors"
    assert "model/model.safetensors" in problem.message
    assert text in f"{problem.message} {problem.help}"


@pytest.mark.parametrize("content", [r[1] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_what_the_library_refuses_is_refused_too(content: bytes, tmp_path: Path) -> None:
    """The other way round we are stricter: the library takes the last of two tensors of one name."""
    path = folder_with(tmp_path, {"model.safetensors": content}) / "model.safetensors"
    try:
        with safe_open(path, "pt") as stream:
            names = set(stream.keys())
    except (SafetensorError, OSError, ValueError):
        return
    assert names == {"a"}
    assert b'"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a"' in content


TOLERATED: list[tuple[str, bytes, str]] = [
    ("space before the header", packed(" {" + A + "}", 1), "odd-header"),
    ("unknown field", packed({"a": entry("U8", [1], 0, 1, color="red")}, 1), "odd-header"),
    ("metadata null", packed('{"__metadata__":null,' + A + "}", 1), "odd-header"),
    ("metadata key twice", packed('{"__metadata__":{"k":"1","k":"2"},' + A + "}", 1), "odd-header"),
    ("nameless tensor", packed({"": entry("U8", [1], 0, 1)}, 1), "odd-header"),
    ("no tensors", packed("{}"), "odd-header"),
    ("unknown dtype", packed({"a": entry("F2", [8], 0, 2)}, 2), "unknown-dtype"),
]


@pytest.mark.parametrize(("content", "kind"), [t[1:] for t in TOLERATED], ids=[t[0] for t in TOLERATED])
def test_odd_file_is_read_and_noted(content: bytes, kind: str, tmp_path: Path) -> None:
    folder_with(tmp_path, {"model.safetensors": content})
    facts = read(tmp_path)
    assert kinds(facts) == [kind]
    assert facts.names is not None
    assert not facts.problems[0].incomplete


@pytest.mark.parametrize(
    "header",
    [
        GOOD,
        {"__metadata__": {"format": "pt"}, **GOOD},
        {"b": entry("BF16", [3], 16, 22), "a": entry("F32", [2, 2], 0, 16)},
        {
            "scalar": entry("F32", [], 0, 4),
            "empty": entry("F32", [0, 7], 4, 4),
            "x": entry("U8", [18], 4, 22),
        },
        {"dtype": entry("U8", [11], 0, 11), "shape": entry("U8", [11], 11, 22)},
        {'quo"te': entry("U8", [22], 0, 22)},
        {"🦅": entry("F4", [44], 0, 22)},
        {"sub": entry("F6_E2M3", [16], 0, 12), "x": entry("F8_E8M0", [10], 12, 22)},
    ],
)
def test_proper_header_has_no_problem(header: dict[str, Any], tmp_path: Path) -> None:
    folder_with(tmp_path, {"model.safetensors": packed(header, 22)})
    facts = read(tmp_path)
    assert facts.problems == ()
    assert facts.weights == "safetensors"
    read_as = {name: [tensor.dtype, list(tensor.shape)] for name, tensor in facts.tensors.items()}
    header.pop("__metadata__", None)
    assert read_as == {name: [one["dtype"], one["shape"]] for name, one in header.items()}


def test_rank_beyond_reason(tmp_path: Path) -> None:
    """torch stops at 64 dimensions, though the library would read more."""
    folder_with(tmp_path, {"model.safetensors": packed({"a": entry("U8", [1] * 65, 0, 1)}, 1)})
    assert kinds(read(tmp_path)) == ["malformed"]


def test_escaped_names_are_one_name(tmp_path: Path) -> None:
    """``\\u0061`` is ``a``: a second spelling of the same name is the same name."""
    text = "{" + A + ',"\\u0061"' + A[3:].replace("[0,1]", "[1,2]") + "}"
    folder_with(tmp_path, {"model.safetensors": packed(text, 2)})
    assert kinds(read(tmp_path)) == ["duplicate-tensor"]


def test_header_longer_than_the_first_read(tmp_path: Path) -> None:
    header = {f"layer.{i}.weight": entry("U8", [1], i, i + 1) for i in range(4000)}
    assert len(json.dumps(header)) > FIRST_READ
    folder_with(tmp_path, {"model.safetensors": packed(header, 4000)})
    facts = read(tmp_path)
    assert facts.problems == ()
    assert len(facts.tensors) == 4000


def test_header_above_the_limit_is_not_read(tmp_path: Path) -> None:
    path = folder_with(tmp_path, {}) / "model.safetensors"
    with path.open("wb") as stream:
        stream.write(struct.pack("<Q", MAX_HEADER_BYTES + 1))
        stream.truncate(MAX_HEADER_BYTES + 100)
    facts = read(tmp_path)
    assert kinds(facts) == ["not-supported"]
    assert facts.names is None


@pytest.mark.parametrize("unit", ["[],", '"",', "{},"])
def test_header_that_is_dear_to_parse_is_refused_before(unit: str, tmp_path: Path) -> None:
    folder_with(tmp_path, {"model.safetensors": packed('{"a":[' + unit * 6_000_000 + "0]}")})
    started = time.monotonic()
    assert kinds(read(tmp_path)) == ["malformed"]
    assert time.monotonic() - started < 5


def test_control_characters_of_a_name_do_not_reach_the_message(tmp_path: Path) -> None:
    header = {"\x1b[31mred\n::error::": entry("U8", [2], 0, 1)}
    folder_with(tmp_path, {"model.safetensors": packed(header, 1)})
    problem = read(tmp_path).problems[0]
    assert problem.message.isprintable()
    assert problem.text.isprintable()
