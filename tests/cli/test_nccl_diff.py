"""``eaglecfg nccl-diff``, on invented libraries."""

from __future__ import annotations

import json
import re
import stat
import sys
import zipfile
from pathlib import Path

import jsonschema
import pytest

from tests.nccl.test_library import library

from .conftest import RunLine

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "schemas" / "nccl-diff.schema.json").read_text(encoding="utf-8")
)


def installed(folder: Path, version: str = "2.30.7", **names: tuple[str, ...]) -> Path:
    """A site-packages with an nvidia-nccl of ``version``."""
    place = folder / "nvidia" / "nccl" / "lib"
    place.mkdir(parents=True)
    return library(place, version, **names)  # type: ignore[arg-type]


def test_a_library_that_agrees_exits_0(run_line: RunLine, tmp_path: Path) -> None:
    code, out, err = run_line("nccl-diff", str(library(tmp_path, "2.28.9")))
    assert (code, err) == (0, "")
    assert out.startswith("NCCL 2.28.9: ")
    assert out.endswith("no difference\n")


def test_differences_are_listed_both_ways_and_exit_1(run_line: RunLine, tmp_path: Path) -> None:
    more = ("NCCL_BRAND_NEW", "NCCL_SHM_MEMCPY_MODE")
    path = library(tmp_path, "2.30.7", without="NCCL_ALGO", more=more)
    code, out, _ = run_line("nccl-diff", str(path))
    assert code == 1
    assert "in the library, and not in the facts: 1\n  NCCL_BRAND_NEW\n" in out
    assert "in the facts for 2.30.7, and not in the library: 1\n  NCCL_ALGO\n" in out
    assert "  NCCL_SHM_MEMCPY_MODE  (facts: from 2.13 until 2.30.4)\n" in out
    assert out.endswith("3 differences\n")


@pytest.mark.parametrize("form", ["file", "wheel", "folder", "lib", "python"])
def test_the_library_is_found_where_people_point(run_line: RunLine, tmp_path: Path, form: str) -> None:
    path = installed(tmp_path / "site", more=("NCCL_BRAND_NEW",))
    given = {"file": path, "folder": tmp_path / "site", "lib": path.parent}.get(form)
    options = [str(given)]
    if form == "wheel":
        given = tmp_path / "nvidia_nccl_cu13-2.30.7-py3-none-any.whl"
        with zipfile.ZipFile(given, "w", zipfile.ZIP_DEFLATED) as wheel:
            wheel.write(path, "nvidia/nccl/lib/libnccl.so.2")
        options = [str(given)]
    if form == "python":
        asked = tmp_path / "python"
        asked.write_text(
            f'#!/bin/sh\nPYTHONPATH="{tmp_path}/site" exec "{sys.executable}" "$@"\n', encoding="utf-8"
        )
        asked.chmod(asked.stat().st_mode | stat.S_IXUSR)
        options = ["--python", str(asked)]
    code, out, err = run_line("nccl-diff", "--format", "json", *options)
    assert (code, err) == (1, "")
    report = json.loads(out)
    jsonschema.validate(report, SCHEMA)
    assert (report["version"], report["nccl_version"], report["unknown"]) == (1, "2.30.7", ["NCCL_BRAND_NEW"])
    assert "libnccl.so.2" in report["library"]


def test_a_version_may_be_given(run_line: RunLine, tmp_path: Path) -> None:
    code, out, _ = run_line("nccl-diff", str(library(tmp_path, "2.30.7")), "--nccl", "2.28.9")
    assert code == 1
    assert "in the library, and not in the facts for 2.28.9" in out


def test_a_library_without_a_version_is_compared_by_names_alone(run_line: RunLine, tmp_path: Path) -> None:
    path = tmp_path / "libnccl.so.2"
    path.write_bytes(b"\x7fELF\x00NCCL_ALGO\x00NCCL_BRAND_NEW\x00")
    code, out, _ = run_line("nccl-diff", str(path))
    assert code == 1
    assert out.startswith("NCCL of a version that its strings do not tell")
    assert "--nccl VERSION" in out
    assert "not in the library" not in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name one library"),
        (["libnccl.so.2", "--python", "python3"], "name one library"),
        (["nowhere"], "there is no file nowhere"),
        (["empty"], "it is no libnccl"),
        (["notes"], "notes does not begin as a shared library does: it is no libnccl"),
        (["text.whl"], "libnccl.so.2 does not begin as a shared library does"),
        (["bare"], "holds no name of a variable of NCCL's: it is no libnccl"),
        (["libnccl.so.2", "--python", ""], "--python takes the name of a program, got an empty one"),
        (["."], "holds none of"),
        (["broken.whl"], "cannot be read as a wheel"),
        (["other.whl"], "holds no libnccl.so"),
        (["--python", "./none"], "cannot be run: no such file"),
        (["--python", "./fails"], "has no nvidia-nccl package"),
        (["--python", "a\0b"], "cannot be run"),
        (["empty", "--nccl", "new"], "--nccl takes a version such as 2.30.7, got new"),
    ],
)
@pytest.mark.parametrize("form", ["text", "json"])
def test_what_cannot_be_compared_exits_2(
    run_line: RunLine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    says: str,
    form: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "notes").write_text("NCCL_PROTO=LL\0NCCL version 2.30.7\0", encoding="utf-8")
    (tmp_path / "bare").write_bytes(b"\x7fELF\0of something else\0")
    with zipfile.ZipFile(tmp_path / "text.whl", "w") as wheel:
        wheel.writestr("nvidia/nccl/lib/libnccl.so.2", "NCCL_PROTO\0")
    (tmp_path / "broken.whl").write_bytes(b"PK\x03\x04 and no more")
    with zipfile.ZipFile(tmp_path / "other.whl", "w") as wheel:
        wheel.writestr("other/__init__.py", "")
    (tmp_path / "fails").write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    (tmp_path / "fails").chmod(0o755)
    code, out, err = run_line("nccl-diff", *arguments, "--format", form)
    assert code == 2
    assert says in " ".join(err.split())
    assert "Traceback" not in err
    assert (out == "") == (form == "text")


def test_a_library_beyond_the_facts_is_said_to_be(run_line: RunLine, tmp_path: Path) -> None:
    newer = library(tmp_path, "2.99.1", more=("NCCL_BRAND_NEW",))
    out = run_line("nccl-diff", str(newer))[1]
    assert re.search(r"\nthe facts end at NCCL 2\.[0-9.]+: what came later is not in them, and validate", out)
    out = run_line("nccl-diff", str(newer), "--nccl", "2.18.1")[1]
    assert re.search(r"\nthe facts begin at NCCL 2\.[0-9.]+: what was gone by then may not be in them\n", out)
    known = json.loads(run_line("nccl-diff", str(newer), "--format", "json")[1])["facts_of"]
    for version in known:
        out = run_line("nccl-diff", str(newer), "--nccl", version)[1]
        assert "the facts end" not in out
        assert "the facts begin" not in out
