"""Variables of the shell and lines of nccl.conf."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from eaglecfg.machine.environment import in_force, read_conf_files, relevant
from eaglecfg.machine.places import Places


@pytest.fixture
def places(tmp_path: Path) -> Places:
    (tmp_path / "etc").mkdir()
    (tmp_path / "home").mkdir()
    return Places(etc=tmp_path / "etc", home=tmp_path / "home")


def test_only_what_bears_on_the_server_is_shown_and_no_secret() -> None:
    given = {
        "NCCL_PROTO": "LL",
        "SGLANG_API_KEY": "topsecret",
        "CUDA_HOME": "/usr/local/cuda",
        "LD_LIBRARY_PATH": "/x",
        "HOME": "/root",
        "AWS_SECRET_ACCESS_KEY": "topsecret",
        "TORCH_NCCL_NAN_CHECK": "1",
        "SGLANG_HOST": "http://user:topsecret@host/",
    }
    shown = relevant(given)
    assert "HOME" not in shown
    assert "AWS_SECRET_ACCESS_KEY" not in shown
    assert list(shown) == sorted(shown)
    assert "topsecret" not in str(shown)
    assert (shown["NCCL_PROTO"], shown["LD_LIBRARY_PATH"]) == ("LL", "/x")


def test_the_environment_wins_over_the_users_file_and_that_over_the_systems(places: Places) -> None:
    assert places.home is not None
    (places.home / ".nccl.conf").write_text("NCCL_PROTO=LL\nNCCL_ALGO=Ring\n")
    (places.etc / "nccl.conf").write_text("NCCL_ALGO=Tree\nNCCL_DEBUG=INFO\n")
    environ = {"NCCL_PROTO": "Simple", "PATH": ""}
    own, system = read_conf_files(environ, places)
    assert [(one.name, one.shadowed) for one in own.settings] == [
        ("NCCL_PROTO", "the environment"),
        ("NCCL_ALGO", ""),
    ]
    assert [(one.name, one.shadowed) for one in system.settings] == [
        ("NCCL_ALGO", own.path),
        ("NCCL_DEBUG", ""),
    ]
    assert in_force(environ, (own, system)) == {
        "NCCL_PROTO": "Simple",
        "NCCL_ALGO": "Ring",
        "NCCL_DEBUG": "INFO",
    }


def test_a_named_file_takes_the_place_of_the_users(places: Places, tmp_path: Path) -> None:
    assert places.home is not None
    (places.home / ".nccl.conf").write_text("NCCL_PROTO=LL\n")
    named = tmp_path / "my.conf"
    named.write_text("NCCL_ALGO=Ring\n")
    first, _ = read_conf_files({"NCCL_CONF_FILE": str(named)}, places)
    assert (first.path, [one.name for one in first.settings]) == (str(named), ["NCCL_ALGO"])


def test_lines_are_read_as_nccl_reads_them(places: Places) -> None:
    (places.etc / "nccl.conf").write_text(
        "# a comment\nNCCL_ALGO=Ring\nNCCL_ALGO=Tree\n # no comment\nNCCL_PROTO = LL\nNCCL_DEBUG\n\n=x\n"
        f"NCCL_TOPO_FILE={'x' * 2000}\n"
    )
    found = read_conf_files({}, places)[-1]
    assert [(one.name, one.value[:8], one.line) for one in found.settings] == [
        ("NCCL_ALGO", "Ring", 2),
        ("NCCL_PROTO ", " LL", 5),
        ("NCCL_TOPO_FILE", "x" * 8, 9),
    ]
    assert found.odd == ((4, " # no comment"), (6, "NCCL_DEBUG"), (8, "=x"))
    assert len(found.settings[-1].value) == 1023


def test_files_that_are_not_there_or_no_files_are_told(places: Places) -> None:
    (places.etc / "nccl.conf").mkdir()
    assert [one.state for one in read_conf_files({}, places)] == ["absent", "unreadable"]
    (places.etc / "nccl.conf").rmdir()
    (places.etc / "nccl.conf").write_bytes(b"\xff\xfe\0NCCL\n\0=\n")
    os.mkfifo(places.etc / "pipe")
    assert read_conf_files({"NCCL_CONF_FILE": str(places.etc / "pipe")}, places)[0].state == "unreadable"
    assert read_conf_files({"NCCL_CONF_FILE": "a\0b"}, places)[0].state == "unreadable"
    assert read_conf_files({}, Places(etc=places.etc))[0].state == "read"
