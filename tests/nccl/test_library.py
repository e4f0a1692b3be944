"""Comparison of the facts with an installed library's strings."""

from __future__ import annotations

from pathlib import Path

import pytest

from eaglecfg.nccl.facts import variable_fact, variable_names
from eaglecfg.nccl.library import compare_library


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
    assert len(found.missing) == sum(fact is not None and fact.standing("2.30.7") == "there" for fact in facts)
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
