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


def test_a_huge_change_stays_within_what_a_comment_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    head = "version: 1\nengine: {version: 0.5.23}\ndeployments:\n"
    for name, steps in (("one.yaml", 2), ("two.yaml", 3)):
        variables = ", ".join(f"V{i}: {steps}" for i in range(30))
        body = "".join(
            f"  d{number}: {{target: {{checkpoint: t}}, env: {{{variables}}}}}\n" for number in range(150)
        )
        (tmp_path / name).write_text(head + body, encoding="utf-8")
    run(["diff", "one.yaml", "two.yaml", "--format", "markdown"])
    text = capsys.readouterr().out
    assert len(text) <= LARGEST + 500
    assert "more parts are left out" in text
    assert "150 of 150 deployments change in effect" in text
    assert "and 18 more" in text
