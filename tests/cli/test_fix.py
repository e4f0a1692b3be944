"""``eaglecfg fix``: files in place, diffs, streams, and files that must not or cannot be written."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from eaglecfg.rules.examples import materialize
from tests.cli.conftest import RunLine

BAD = "num_draft_tokens: 6"
GOOD = "num_draft_tokens: 4"


@pytest.fixture
def faulty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    materialize({"title": "x", "deployment": {"speculative": {"num_draft_tokens": 6}}}, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "eaglecfg.yaml"


def test_it_writes_in_place_and_says_what(run_line: RunLine, faulty: Path) -> None:
    before = faulty.read_text(encoding="utf-8")
    code, out, err = run_line("fix")
    assert (code, err) == (0, "")
    assert "fixed eaglecfg.yaml:10: EC302 set num_draft_tokens to 4\n" in out
    assert "1 fix in 1 file · 0 errors left · 0 warnings left" in out
    assert faulty.read_text(encoding="utf-8") == before.replace(BAD, GOOD)
    assert run_line("fix")[:2] == (0, "0 fixes in 0 files · 0 errors left · 0 warnings left\n")


def test_a_diff_changes_nothing_and_applies(run_line: RunLine, faulty: Path) -> None:
    before = faulty.read_bytes()
    code, out, err = run_line("fix", "--diff")
    assert code == 1
    assert faulty.read_bytes() == before
    assert out.startswith("--- a/eaglecfg.yaml\n+++ b/eaglecfg.yaml\n@@ ")
    assert "would fix eaglecfg.yaml:10" in err
    subprocess.run(["patch", "-p1", "--quiet"], input=out, text=True, check=True, cwd=faulty.parent)
    assert faulty.read_bytes() == before.replace(BAD.encode(), GOOD.encode())
    assert run_line("fix", "--diff")[:2] == (0, "")


def test_crlf_mark_and_missing_newline_stay(run_line: RunLine, faulty: Path) -> None:
    raw = b"\xef\xbb\xbf" + faulty.read_bytes().replace(b"\n", b"\r\n").rstrip()
    faulty.write_bytes(raw)
    assert run_line("fix")[0] == 0
    assert faulty.read_bytes() == raw.replace(BAD.encode(), GOOD.encode())


def test_mode_and_links_stay(run_line: RunLine, faulty: Path) -> None:
    real = faulty.rename(faulty.with_name("real.yaml"))
    real.chmod(0o640)
    faulty.symlink_to("real.yaml")
    assert run_line("fix")[0] == 0
    assert faulty.is_symlink()
    assert GOOD in real.read_text(encoding="utf-8")
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_two_names_of_one_file_are_one_file(run_line: RunLine, faulty: Path) -> None:
    faulty.with_name("link.yaml").symlink_to("eaglecfg.yaml")
    code, out, _ = run_line("fix", "eaglecfg.yaml", "./eaglecfg.yaml", "link.yaml")
    assert code == 0
    assert "1 fix in 1 file" in out
    assert GOOD in faulty.read_text(encoding="utf-8")


def test_a_file_without_fixes_is_not_touched(run_line: RunLine, faulty: Path) -> None:
    run_line("fix")
    os.utime(faulty, (1, 1))
    run_line("fix")
    assert faulty.stat().st_mtime == 1


def test_checkpoints_are_not_touched(run_line: RunLine, faulty: Path) -> None:
    def others() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in faulty.parent.rglob("*/*") if path.is_file()}

    before = others()
    run_line("fix", "--unsafe")
    assert others() == before


def test_stdin_to_stdout(faulty: Path) -> None:
    text = faulty.read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "eaglecfg", "fix", "-"],
        input=text,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert (done.returncode, done.stdout) == (0, text.replace(BAD.encode(), GOOD.encode()))
    assert b"fixed -:10: EC302" in done.stderr


def test_select_and_unsafe(run_line: RunLine, faulty: Path) -> None:
    before = faulty.read_bytes()
    code, out, _ = run_line("fix", "--select", "EC604")
    assert (code, faulty.read_bytes()) == (0, before)
    assert "0 fixes in 0 files" in out
    assert run_line("fix", "--select", "nonsense")[0] == 2
    faulty.write_bytes(before.replace(b"num_steps", b"num_step"))
    assert " more with --unsafe" in run_line("fix")[1]
    assert "write num_steps for num_step" in run_line("fix", "--unsafe")[1]


def test_findings_that_are_left_give_1(run_line: RunLine, faulty: Path) -> None:
    text = faulty.read_text(encoding="utf-8").replace("[3, 6, 9]", "[2, 5, 8]")
    faulty.write_text(text, encoding="utf-8")
    code, out, _ = run_line("fix")
    assert code == 1
    assert "1 error left" in out
    assert run_line("fix", "--select", "EC302")[0] == 0


@pytest.mark.parametrize(
    ("content", "code"), [(b"a: [", 2), (b"", 2), (b"\xff\xfe", 2), (b"- 1\n", 2), (b"a: \xff\n", 2)]
)
def test_what_is_no_config(run_line: RunLine, faulty: Path, content: bytes, code: int) -> None:
    faulty.write_bytes(content)
    assert run_line("fix", "--unsafe")[0] == code
    assert faulty.read_bytes() == content


@pytest.mark.parametrize("name", ["nowhere.yaml", "target", "no/such.yaml", "/dev/null"])
def test_what_is_no_file(run_line: RunLine, faulty: Path, name: str) -> None:
    code, out, err = run_line("fix", name)
    assert (code, out) == (2, "")
    assert name in err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(run_line: RunLine, faulty: Path) -> None:
    faulty.parent.chmod(0o500)
    try:
        code, _, err = run_line("fix")
    finally:
        faulty.parent.chmod(0o700)
    assert code == 2
    assert "may not write there" in err


def test_a_file_that_changes_meanwhile_is_left_alone(
    run_line: RunLine, faulty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from eaglecfg.review import fix as module

    def slow(*arguments: object, **options: object) -> object:
        found = module.__dict__["_real"](*arguments, **options)
        faulty.write_text("version: 1  # somebody else\n", encoding="utf-8")
        return found

    monkeypatch.setitem(module.__dict__, "_real", module.fix)
    monkeypatch.setattr(module, "fix", slow)
    code, _, err = run_line("fix")
    assert code == 2
    assert "changed since it was read" in err
    assert faulty.read_text(encoding="utf-8") == "version: 1  # somebody else\n"


def test_a_study_is_fixed_too(run_line: RunLine, faulty: Path) -> None:
    study = {"space": {"speculative.num_steps": [1, 2, 2]}, "budget": {"until": "7:30"}}
    materialize({"title": "x", "study": study}, faulty.parent)
    code, out, _ = run_line("fix", "study.yaml")
    assert code == 1
    assert "2 more with --unsafe, which may change what runs" in out
    code, out, _ = run_line("fix", "--unsafe", "study.yaml")
    assert code == 0, out
    text = (faulty.parent / "study.yaml").read_text(encoding="utf-8")
    assert "speculative.num_steps: [1, 2]" in text
    assert "07:30" in text


def piped(raw: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "eaglecfg", "fix", *options, "-"],
        input=raw,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )


@pytest.mark.parametrize(
    "raw",
    [
        "a: é\n".encode("latin-1"),
        "a: é\n".encode("utf-16"),
        "a: 1\n".encode("utf-32"),
        b"\xef\xbb\xbfa: [",
        b"a: \x00\n",
        b"",
        b"\xff" * 70_000,
        b"a: " + b"x" * 1_100_000,
    ],
    ids=["latin-1", "utf-16", "utf-32", "mark", "zero", "empty", "binary", "large"],
)
def test_a_stream_that_cannot_be_worked_on_comes_out_as_it_went_in(faulty: Path, raw: bytes) -> None:
    done = piped(raw)
    assert (done.returncode, done.stdout) == (2, raw)
    assert done.stderr != b""
    assert piped(raw, "--diff").stdout in (b"", raw)


def test_a_stream_goes_alone(run_line: RunLine, faulty: Path) -> None:
    assert "goes with no other file" in run_line("fix", "-", "eaglecfg.yaml")[2]


def test_a_file_that_nobody_may_write_stays(run_line: RunLine, faulty: Path) -> None:
    before = faulty.read_bytes()
    faulty.chmod(0o444)
    code, _, err = run_line("fix")
    assert (code, faulty.read_bytes()) == (2, before)
    assert "eaglecfg.yaml: the file is read-only (mode 0444); fix --diff shows the change, or allow it" in err
    assert run_line("fix", "--diff")[0] == 1
    report = faulty.with_name("report.json")
    report.write_text("old", encoding="utf-8")
    report.chmod(0o400 & 0o444)
    for option in ("-o=json=report.json", "--write-baseline=report.json"):
        assert run_line("validate", option.replace("-o=", "-o"))[0] == 2
    assert report.read_text(encoding="utf-8") == "old"


def test_a_file_with_nothing_to_fix_need_not_be_writable(run_line: RunLine, faulty: Path) -> None:
    clean = faulty.with_name("clean.yaml")
    clean.write_text(faulty.read_text(encoding="utf-8").replace(BAD, GOOD), encoding="utf-8")
    clean.chmod(0o444)
    assert run_line("fix", "clean.yaml")[0] == 0
    code, out, _ = run_line("fix", "clean.yaml", "eaglecfg.yaml")
    assert code == 0
    assert "1 fix in 1 file" in out
    assert stat.S_IMODE(clean.stat().st_mode) == 0o444


def test_no_file_is_fixed_where_one_of_them_cannot_be(run_line: RunLine, faulty: Path) -> None:
    other, text = faulty.with_name("other.yaml"), faulty.read_text(encoding="utf-8")
    other.write_text(text, encoding="utf-8")
    other.chmod(0o444)
    assert run_line("fix", "eaglecfg.yaml", "other.yaml")[0] == 2
    assert faulty.read_text(encoding="utf-8") == text


def test_a_hard_link_is_told_of(run_line: RunLine, faulty: Path) -> None:
    other = faulty.with_name("backup.yaml")
    other.hardlink_to(faulty)
    code, _, err = run_line("fix")
    assert code == 0
    assert "eaglecfg.yaml: it was a hard link; the other one keeps the old text" in err
    assert (BAD in other.read_text(encoding="utf-8"), GOOD in faulty.read_text(encoding="utf-8")) == (
        True,
        True,
    )


def test_a_pipe_is_refused_before_it_is_opened(run_line: RunLine, faulty: Path) -> None:
    os.mkfifo("pipe.yaml")
    code, _, err = run_line("fix", "pipe.yaml")
    assert code == 2
    assert "pipe.yaml: only a regular file can be fixed" in err


def test_what_is_left_is_named(run_line: RunLine, faulty: Path) -> None:
    text = faulty.read_text(encoding="utf-8").replace("checkpoint: draft", "checkpoint: nowhere")
    faulty.write_text(text, encoding="utf-8")
    code, out, _ = run_line("fix")
    assert code == 3
    assert "fixed eaglecfg.yaml:10: EC302" in out
    assert "not checked eaglecfg.yaml:" in out
    assert "EC801 draft.checkpoint: there is no folder nowhere" in out
    assert run_line("fix", "--fix-only")[:2] == (0, "0 fixes in 0 files\n")
    faulty.write_text(text.replace("nowhere", "draft").replace("[3, 6, 9]", "[2, 5, 8]"), encoding="utf-8")
    code, out, _ = run_line("fix")
    assert code == 1
    assert "error eaglecfg.yaml:8: EC201" in out
    assert "1 error left" in out
    faulty.write_text("a: [", encoding="utf-8")
    code, out, _ = run_line("fix", "--fix-only")
    assert code == 2


def test_with_select_only_these_rules_count(run_line: RunLine, faulty: Path) -> None:
    text = faulty.read_text(encoding="utf-8").replace("[3, 6, 9]", "[2, 5, 8]")
    faulty.write_text(text, encoding="utf-8")
    assert run_line("fix", "--select", "EC6")[:2] == (
        0,
        "0 fixes in 0 files · of the selected rules 0 errors left · 0 warnings left\n",
    )
    code, out, _ = run_line("fix", "--select", "EC2")
    assert code == 1
    assert "of the selected rules 1 error left" in out


def test_a_patch_of_a_file_above_names_that_file(
    run_line: RunLine, faulty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["git", "init", "-q", "."], check=True)
    inner = faulty.parent / "d"
    inner.mkdir()
    (inner / "eaglecfg.yaml").write_bytes(faulty.read_bytes())
    monkeypatch.chdir(inner)
    code, out, err = run_line("fix", "--diff", "../eaglecfg.yaml")
    assert code == 1
    assert out.startswith("diff --git a/eaglecfg.yaml b/eaglecfg.yaml\n--- a/eaglecfg.yaml\n")
    assert f"git -C {faulty.parent} apply" in err
    subprocess.run(["git", "-C", str(faulty.parent), "apply"], input=out, text=True, check=True)
    assert GOOD in faulty.read_text(encoding="utf-8")
    assert BAD in (inner / "eaglecfg.yaml").read_text(encoding="utf-8")


def test_text_and_bytes_reach_a_closed_pipe(faulty: Path) -> None:
    done = subprocess.run(
        f"{sys.executable} -m eaglecfg fix --diff | true",
        shell=True,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert b"Traceback" not in done.stderr


def test_a_patch_that_repeats_a_secret_applies_and_says_so(run_line: RunLine, faulty: Path) -> None:
    text = faulty.read_text(encoding="utf-8")
    line = next(row for row in text.splitlines() if BAD in row)
    for between, near in (("\n", True), ("\n#\n#\n#\n#\n", False)):
        held = f"{line}{between}    server: {{api_key: hunter2hunter2}}"
        faulty.write_text(text.replace(line, held), encoding="utf-8")
        code, out, err = run_line("fix", "--diff")
        assert code == 1
        assert ("hunter2" in out) == near
        assert ("with a secret in it" in err) == near
        assert "hunter2" not in err
        subprocess.run(["patch", "-p1", "--quiet"], input=out, text=True, check=True, cwd=faulty.parent)
        assert GOOD in faulty.read_text(encoding="utf-8")
