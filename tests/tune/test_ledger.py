"""The record of a study survives torn writes, refuses damage in its middle, and has one writer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import eaglecfg
from eaglecfg.cli.main import run
from eaglecfg.errors import UsageError
from eaglecfg.tune.ledger import Ledger, LedgerDamaged, read_ledger, scan
from tests.tune.folder import Folder

LABEL = "zwei Schritte ünd\nmehr"
SECOND = """
import sys
from pathlib import Path
from eaglecfg.tune.ledger import Ledger
Ledger(Path(sys.argv[1]))
"""
FULL = """
import resource, signal, sys
from pathlib import Path
from eaglecfg.errors import EaglecfgError
from eaglecfg.tune.ledger import Ledger
ledger = Ledger(Path(sys.argv[1]))
ledger.append('a', 1.0, x='y')
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
try:
    ledger.append('b', 2.0, x='z' * 500)
except EaglecfgError as error:
    print(error)
"""


def other_process(code: str, path: Path) -> subprocess.CompletedProcess[str]:
    root = Path(eaglecfg.__file__).parents[1]
    command = [sys.executable, "-c", code, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)


def fill(path: Path, count: int = 4) -> bytes:
    with Ledger(path) as ledger:
        for number in range(count):
            ledger.append("launch", 100.0 + number, n=number, label=LABEL, score=1.5 * number)
    return path.read_bytes()


def test_events_come_back_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    fill(path)
    events = read_ledger(path)
    assert [event.seq for event in events] == [1, 2, 3, 4]
    assert events[2].data == {"n": 2, "label": LABEL, "score": 3.0}
    assert events[2].kind == "launch"
    assert events[2].at == 102.0


def test_every_line_is_a_json_object_for_other_tools(tmp_path: Path) -> None:
    raw = fill(tmp_path / "ledger.jsonl")
    rows = [json.loads(line) for line in raw.splitlines()]
    assert [row["event"]["data"]["n"] for row in rows] == [0, 1, 2, 3]


def test_a_tail_torn_at_any_byte_loses_only_the_torn_event(tmp_path: Path) -> None:
    raw = fill(tmp_path / "whole.jsonl", 3)
    ends = [index + 1 for index, byte in enumerate(raw) if byte == 10]
    path = tmp_path / "ledger.jsonl"
    for cut in range(len(raw) + 1):
        path.write_bytes(raw[:cut])
        # A line whose only missing byte is the newline is whole.
        whole = sum(end - 1 <= cut for end in ends)
        with Ledger(path) as ledger:
            assert len(ledger.events) == whole, cut
            at_border = cut == 0 or cut in ends or cut + 1 in ends
            assert bool(ledger.note) is not at_border
            ledger.append("again", 1.0, cut=cut)
        assert [event.kind for event in read_ledger(path)] == ["launch"] * whole + ["again"]


def test_zeros_after_a_power_cut_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    raw = fill(path)
    path.write_bytes(raw + b"\0" * 512)
    with Ledger(path) as ledger:
        assert len(ledger.events) == 4
        assert "512 bytes" in ledger.note
    assert path.read_bytes() == raw


@pytest.mark.parametrize("damage", ["flip", "drop", "swap"])
def test_damage_before_the_last_line_is_an_error_that_names_the_line(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "ledger.jsonl"
    lines = fill(path).splitlines(keepends=True)
    if damage == "flip":
        lines[1] = lines[1].replace(b'"n":1', b'"n":7')
    elif damage == "drop":
        del lines[1]
    else:
        lines[1], lines[2] = lines[2], lines[1]
    path.write_bytes(b"".join(lines))
    before = path.read_bytes()
    with pytest.raises(LedgerDamaged, match=r"ledger\.jsonl:2: "):
        Ledger(path)
    assert path.read_bytes() == before


def test_a_second_writer_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    with Ledger(path):
        with pytest.raises(UsageError, match="another process"):
            Ledger(path)
        other = other_process(SECOND, path)
        assert other.returncode != 0
        assert "another process" in other.stderr
    Ledger(path).close()


def test_a_reader_needs_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    with Ledger(path) as ledger:
        ledger.append("study", 1.0)
        assert len(read_ledger(path)) == 1


def test_a_missing_ledger_reads_as_empty(tmp_path: Path) -> None:
    assert read_ledger(tmp_path / "none.jsonl") == ()


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    done = other_process(FULL, path)
    assert "cannot be written" in done.stdout
    assert [event.kind for event in read_ledger(path)] == ["a"]
    assert scan(path.read_bytes(), "x").torn == 0


@pytest.mark.parametrize("words", [(), ("status",), ("report",), ("export",)])
def test_a_damaged_record_is_an_unreadable_file_to_every_command(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Folder(tmp_path)
    path = folder.record / "ledger.jsonl"
    raw = fill(path)
    path.write_bytes(raw.replace(b'"n":1', b'"n":7', 1))
    name, *rest = folder.arguments
    rest = rest if not words else rest[:1]
    assert (
        run([name, *words, *rest, *(("--sqlite", str(tmp_path / "x")) if words == ("export",) else ())]) == 2
    )
    error = capsys.readouterr().err
    assert "its checksum differs" in error
    assert "ledger.jsonl:2: " in error
    assert "internal" not in error
