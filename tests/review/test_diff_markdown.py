"""The pull-request comment: whatever stands in a file, it keeps its shape and a bounded length."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from eaglecfg.cli.main import run
from eaglecfg.review.difference.markdown import LARGEST
from eaglecfg.rules.examples import materialize

NASTY = (
    "<script>alert(1)</script>",
    "| a | b |",
    "``` ~~~ ````",
    "@octocat fixes #1",
    "[x](http://example.org)",
    "![x](http://example.org/y.png)",
    "</details>",
    "a\nb\r\n# c",
    "\x1b[31mred",
    "\u202eevil",
    "*_*",
)


def comment(
    pair: Path, value: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> str:
    monkeypatch.chdir(pair)
    materialize({"title": "base"}, pair)
    base = (pair / "eaglecfg.yaml").read_text(encoding="utf-8")
    materialize({"deployment": {"env": {"NOTE": value}, "server": {"served_model_name": value}}}, pair)
    (pair / "other.yaml").write_text((pair / "eaglecfg.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    (pair / "eaglecfg.yaml").write_text(base, encoding="utf-8")
    run(["diff", "eaglecfg.yaml", "other.yaml", "--format", "markdown"])
    return capsys.readouterr().out


def outside_code(text: str) -> str:
    """The comment without its fenced blocks and code spans."""
    text = re.sub(r"(?ms)^(`{3,})diff\n.*?^\1$", "", text)
    return re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)


@pytest.mark.parametrize("value", NASTY)
def test_nothing_in_a_value_becomes_markup(
    value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = comment(tmp_path, value, capsys, monkeypatch)
    prose = outside_code(text)
    assert not re.search(r"(?<!\\)<(?!!-- eaglecfg diff -->|/?details>|/?summary>)", prose)
    assert not re.search(r"@\w", prose)
    assert not re.search(r"(?<!\\)#\d", prose)
    assert not re.search(r"(?<!\\)\]\(", prose)
    assert "\x1b" not in text
    assert "\u202e" not in text
    rows = [line for line in prose.splitlines() if line.startswith("|")]
    assert rows or "EC004" in text, "control characters are refused before"
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} <= {5}
    assert text.count("<details>") == prose.count("</details>") == bool(rows)


def many(folder: Path, *, alike: bool) -> str:
    """The comment about 150 deployments that change, of which the last gets an error."""
    head = "version: 1\nengine: {version: 0.5.23}\ndeployments:\n"
    for name, steps in (("one.yaml", 2), ("two.yaml", 3)):
        body = ""
        for number in range(150):
            variables = ", ".join(f"V{i}: {steps}{'' if alike else number}" for i in range(30))
            body += f"  d{number}: {{target: {{checkpoint: t}}, env: {{{variables}}}}}\n"
        if steps == 3:
            body = body.removesuffix("}\n") + ", no_such_key: 1}\n"
        (folder / name).write_text(head + body, encoding="utf-8")
    return str(run(["diff", "one.yaml", "two.yaml", "--format", "markdown"]))


def test_a_huge_change_stays_within_what_a_comment_takes_and_names_what_fails_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert many(tmp_path, alike=False) == "1"
    text = capsys.readouterr().out
    assert len(text) <= LARGEST + 500
    assert "more parts are left out" in text
    assert "150 of 150 deployments change in effect" in text
    assert "and 18 more" in text
    assert text.index("**error EC101**") < text.index("####"), "findings stand before tables"


def test_deployments_that_change_alike_are_told_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    many(tmp_path, alike=True)
    text = capsys.readouterr().out
    assert "#### `d0`, `d1`, `d2`, `d3`, `d4` and 145 more in `two.yaml`: changed" in text
    assert len(text) < 4_000
    run(["diff", "one.yaml", "two.yaml"])
    out = capsys.readouterr().out
    assert "150 deployments   changed: d0, d1," in out
    assert out.count("environment V0: 2 → 3") == 1


def test_as_many_findings_as_there_can_be_fit_into_a_comment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    head = "version: 1\nengine: {version: 0.5.23}\ndeployments:\n"
    for name, key in (("one.yaml", ""), ("two.yaml", "nosuch")):
        body = ""
        for n in range(90):
            more = f", {key}{n}{'*' * 900}: 1" if key else ""
            body += f"  x{'*' * 400}{n}: {{target: {{checkpoint: t}}{more}}}\n"
        (tmp_path / name).write_text(head + body, encoding="utf-8")
    assert run(["diff", "one.yaml", "two.yaml", "--format", "markdown"]) == 1
    text = capsys.readouterr().out
    assert len(text) <= LARGEST + 500
    assert text.count("introduced: **error EC101**") > 10
    assert re.search(r"and \d+ more", text)


@pytest.mark.parametrize("name", ["a|b", "a`|`b"])
def test_a_bar_is_escaped_in_cells_alone(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "version: 1\nengine: {version: 0.5.23}\n"
    text += "deployments: {'NAME': {target: {checkpoint: t}, env: {A: B}}}\n"
    for file, value in (("one.yaml", "x"), ("two.yaml", "y|z")):
        made = text.replace("NAME", name).replace("A: B", f"A: '{value}'")
        (tmp_path / file).write_text(made, encoding="utf-8")
    run(["diff", "one.yaml", "two.yaml", "--format", "markdown"])
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("#### ") and name in line for line in lines)
    assert any(line.startswith("| environment") and "y\\|z" in line for line in lines)
