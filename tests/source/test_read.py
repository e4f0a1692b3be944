"""Files as documents: encodings, sizes, and files that are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from eaglecfg.errors import ConfigUnreadable
from eaglecfg.source.limits import MAX_BYTES
from eaglecfg.source.read import parse_document, read_document


def test_a_file_is_named_as_the_user_spelled_it(tmp_path: Path) -> None:
    path = tmp_path / "eaglecfg.yaml"
    path.write_text("a: 1\n", encoding="utf-8")
    document = read_document(path, shown="./eaglecfg.yaml")
    assert document.name == "./eaglecfg.yaml"
    assert document.folder == str(tmp_path)
    assert document.data == {"a": 1}


def test_relative_paths_resolve_against_an_absolute_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.yaml").write_text("a: 1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert Path(read_document(Path("x.yaml")).folder).is_absolute()


def test_bytes_that_are_not_utf8_are_shown_at_their_place(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes("a: 1\nb: né".encode("latin-1"))
    document = read_document(path)
    assert document.data is None
    (problem,) = document.problems
    assert problem.kind == "not-utf8"
    assert (problem.span.start.line, problem.span.start.column) == (2, 5)
    assert "0xe9" in problem.message
    assert document.lines[1].startswith("b: n")


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")
    document = read_document(path)
    assert document.data == {"a": 1}
    assert [problem.kind for problem in document.problems] == ["byte-order-mark"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_unicode_encodings_are_named(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes("version: 1\nengine: {}\n".encode(encoding))
    with pytest.raises(ConfigUnreadable, match=r"x\.yaml: UTF-8 is expected, this looks like UTF-(16|32)"):
        read_document(path)


def test_files_that_cannot_be_opened_say_why(tmp_path: Path) -> None:
    with pytest.raises(ConfigUnreadable, match="there is none"):
        read_document(tmp_path / "missing.yaml")
    with pytest.raises(ConfigUnreadable, match="this is a folder"):
        read_document(tmp_path)
    with pytest.raises(ConfigUnreadable, match="cannot be read"):
        read_document(tmp_path / ("n" * 300))
    with pytest.raises(ConfigUnreadable, match="cannot be read"):
        read_document(Path("a\0b"))


def test_a_large_file_is_refused_after_its_first_part(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"a: 1\n")
    with path.open("r+b") as file:
        file.truncate(1 << 40)  # sparse: reading it whole would take minutes
    with pytest.raises(ConfigUnreadable):
        read_document(path)  # zeros, so it looks like another encoding
    path.write_bytes(b"# x\n" * (MAX_BYTES // 4 + 1))
    document = read_document(path)
    assert [problem.kind for problem in document.problems] == ["too-large"]
    assert document.text == ""


def test_text_beyond_the_limit_is_refused_without_a_file() -> None:
    document = parse_document("#" * (MAX_BYTES + 1), "x.yaml", ".")
    assert [problem.kind for problem in document.problems] == ["too-large"]


def test_a_file_of_the_largest_size_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"a: 1\n" + b"#" * (MAX_BYTES - 5))
    assert read_document(path).data == {"a": 1}
