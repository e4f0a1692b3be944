"""What stands in a file, or comes from a server, cannot drive the reader's terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from eaglecfg.cli.main import run
from eaglecfg.cli.output import say, tell
from eaglecfg.report.styled import Part, coloured, line, plain

ESCAPE = "\x1b]0;owned\x07\x1b[2J\x9b1m\u202e"


def test_lines_and_sentences_come_out_with_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    say(f"one{ESCAPE}\ntwo")
    tell(f"three{ESCAPE}")
    out, err = capsys.readouterr()
    texts = [out, err, plain([line(Part(f"four{ESCAPE}"))]), coloured([line(Part(f"five{ESCAPE}"))])]
    assert out.count("\n") == 2
    for text in texts:
        assert "\\x1b]0;owned\\x07" in text
        assert not set("\x07\x9b\u202e") & set(text)
        assert "\x1b]" not in text


@pytest.mark.parametrize(
    "command",
    [["validate"], ["validate", "--format", "concise"], ["trace"], ["diff", "other.yaml"], ["fix", "--diff"]],
    ids=" ".join,
)
def test_a_file_does_not_drive_the_terminal(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (
        "version: 1\nengine: {name: sglang, version: 0.5.14}\ndeployments:\n"
        '  "d\\e[2J":\n    target: {checkpoint: "m\\e]0;x\\a"}\n'
        '    server: {attention_backend: "\\e[31mred"}\n'
        '    env: {"A\\e[1m": "\\e[5m"}\n'
    )
    Path("eaglecfg.yaml").write_text(text)
    Path("other.yaml").write_text(text.replace("red", "blue"))
    run([*command, "eaglecfg.yaml"])
    out, err = capsys.readouterr()
    assert out + err
    assert not set("\x1b\x07\x9b") & set(out + err)


def test_an_error_about_a_name_that_holds_escapes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["validate", f"none{ESCAPE}.yaml"]) == 2
    assert not set("\x1b\x07\x9b") & set(capsys.readouterr().err)
