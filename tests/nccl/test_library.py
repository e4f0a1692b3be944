"""Comparison of the facts with an installed library's strings."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from eaglecfg.nccl.facts import variable_fact, variable_names
from eaglecfg.nccl.library import ELF, Comparison, compare_stream


def compare_library(path: Path, version: str = "") -> Comparison:
    """The comparison for a file."""
    with path.open("rb") as stream:
        return compare_stream(stream, version)


def library(folder: Path, version: str, *, without: str = "", more: tuple[str, ...] = ()) -> Path:
    """A file with the strings that libnccl of ``version`` should hold."""
    names = []
    for name in variable_names():
        fact = variable_fact(name)
        assert fact is not None
        if fact.standing(version) == "there" and name != without:
            names.append(name)
    path = folder / "libnccl.so.2"
    text = b"\x7fELF\x00x" + b"\x00".join(name.encode() for name in (*names, *more))
    path.write_bytes(text + b"\x00NCCL version " + version.encode() + b"+cuda13.0\x00")
    return path


def test_a_library_that_agrees_has_nothing_to_report(tmp_path: Path) -> None:
    found = compare_library(library(tmp_path, "2.30.7", more=("NCCL_LOG_INFO",)))
    assert (found.version, found.unknown, found.missing, found.early) == ("2.30.7", (), (), ())


def test_names_that_only_one_side_knows_are_listed(tmp_path: Path) -> None:
    found = compare_library(
        library(tmp_path, "2.30.7", without="NCCL_ALGO", more=("NCCL_BRAND_NEW", "NCCL_SHM_MEMCPY_MODE"))
    )
    assert found.unknown == ("NCCL_BRAND_NEW",)
    assert found.missing == ("NCCL_ALGO",)
    assert found.early == ("NCCL_SHM_MEMCPY_MODE",)


def test_a_given_version_wins_over_the_librarys_own_word(tmp_path: Path) -> None:
    found = compare_library(library(tmp_path, "2.30.7"), "2.28.9")
    assert found.version == "2.28.9"
    assert "NCCL_GRAPH_STREAM_ORDERING" in found.early


def test_an_empty_file_lacks_everything(tmp_path: Path) -> None:
    path = tmp_path / "libnccl.so.2"
    path.write_bytes(b"")
    found = compare_library(path, "2.30.7")
    facts = [variable_fact(name) for name in variable_names()]
    assert len(found.missing) == sum(
        fact is not None and fact.standing("2.30.7") == "there" for fact in facts
    )
    assert found.missing
    assert found.found == 0


def test_names_across_the_border_of_two_chunks_are_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = library(tmp_path, "2.30.7", more=("NCCL_BRAND_NEW",))
    whole = compare_library(path)
    assert whole.unknown == ("NCCL_BRAND_NEW",)
    for size in (129, 200, 997):
        monkeypatch.setattr("eaglecfg.nccl.library.CHUNK", size)
        assert compare_library(path) == whole


def test_a_missing_file_raises(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        compare_library(tmp_path / "none")


def elf(mapped: bytes, debug: bytes) -> bytes:
    """A 64-bit ELF file: a head, one program header, what is mapped, and what only a debugger reads."""
    start = 64 + 56
    head = (
        ELF
        + b"\x02\x01\x01"
        + bytes(9)
        + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    )
    return head + struct.pack("<IIQQQQQQ", 1, 4, 0, 0, 0, start + len(mapped), 0, 4096) + mapped + debug


def test_names_of_c_are_no_variables(tmp_path: Path) -> None:
    path = tmp_path / "libnccl.so.2"
    mapped = b"NCCL version 2.30.7\0\x03NCCL_A_VARIABLE\0\0 NCCL_AFTER_DATA\0 use NCCL_OF_A_SENTENCE\0"
    mapped += b"NCCL_IN_THE_MIDDLE of one\0limit == NCCL_A_CONSTANT\0"
    path.write_bytes(elf(mapped, b"NCCL_OF_DEBUG_INFORMATION\0"))
    found = compare_library(path)
    assert (found.version, found.unknown) == ("2.30.7", ("NCCL_AFTER_DATA", "NCCL_A_VARIABLE"))


@pytest.mark.parametrize("size", [129, 131, 200, 4096])
def test_a_sentence_across_the_border_of_two_chunks_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    path = tmp_path / "libnccl.so.2"
    path.write_bytes(ELF + b"\0" * 120 + b"please use NCCL_OF_A_SENTENCE\0" * 40)
    monkeypatch.setattr("eaglecfg.nccl.library.CHUNK", size)
    assert compare_library(path).unknown == ()


@pytest.mark.parametrize("cut", [5, 20, 63, 64, 80, 119])
def test_a_head_that_is_cut_is_read_as_far_as_it_goes(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "libnccl.so.2"
    path.write_bytes(elf(b"", b"")[:cut] + b"\0NCCL_A_VARIABLE\0")
    compare_library(path)
