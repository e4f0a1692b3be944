"""``eaglecfg schema`` and ``eaglecfg rules`` as pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from eaglecfg.cli.main import run
from eaglecfg.schema.export import json_schemas


def test_markdown_of_one_schema_is_a_part_of_that_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "--format", "markdown"]) == 0
    whole = capsys.readouterr().out
    for name, schema in json_schemas().items():
        assert run(["schema", name, "--format", "markdown"]) == 0
        part = capsys.readouterr().out
        assert part.startswith(f"## {schema['title']}\n")
        assert part in whole
        assert run(["schema", name.removesuffix(".schema.json"), "--format", "markdown"]) == 0
        assert capsys.readouterr().out == part


def test_names_that_are_no_schema_and_folders_for_one_schema_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(["schema", "nope", "--format", "markdown"]) == 2
    assert "there is no schema 'nope'; there are eaglecfg.schema.json," in capsys.readouterr().err
    assert run(["schema", "study", "--write", str(tmp_path / "new")]) == 2
    assert "--write writes all schemas" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("command", [["rules", "EC201"], ["schema"]])
def test_a_folder_that_is_a_file_is_told_in_one_line(
    command: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    assert run([*command, "--write", str(tmp_path / "file" / "below")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_pages_of_some_rules_lead_to_their_sections(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(["rules", "EC201", "EC302", "--write", str(tmp_path / "new")]) == 0
    written = capsys.readouterr().out.splitlines()
    names = {str(path.relative_to(tmp_path / "new")) for path in (tmp_path / "new").rglob("*.md")}
    assert names == {
        "rules.md",
        *(f"rules/{one}.md" for one in ("capture", "arguments", "examples", "survey")),
    }
    assert len(written) == len(names)
    index = (tmp_path / "new" / "rules.md").read_text(encoding="utf-8")
    assert "(rules/capture.md#ec201-trained-boundaries)" in index
    assert "\n## EC201 trained-boundaries\n" in (tmp_path / "new" / "rules" / "capture.md").read_text("utf-8")
