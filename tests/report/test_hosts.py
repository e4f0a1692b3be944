"""GitHub commands, GitLab's report and Markdown: nothing that a file says becomes a command or markup."""

from __future__ import annotations

import html
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from eaglecfg.report.formats import render_error
from eaglecfg.report.github import error_github, to_github
from eaglecfg.report.gitlab import error_gitlab, to_gitlab
from eaglecfg.report.markdown import (
    MOST_BYTES,
    MOST_NOT_CHECKED,
    MOST_RULES,
    code_cell,
    code_span,
    error_markdown,
    escaped,
    in_html,
    to_markdown,
)
from eaglecfg.report.roots import Roots
from eaglecfg.report.styled import visible
from eaglecfg.rules.model import Severity
from eaglecfg.rules.outcome import Report
from tests.report.conftest import EVIL, crowded, empty, hostile

COMMAND = re.compile(r"::(error|warning|notice) ([^:]*)::(.*)")
REPORTS = [hostile(), empty(), crowded(30)]
IDS = ["hostile", "empty", "crowded"]


def unescaped(text: str) -> str:
    for code, character in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(code, character)
    return text


@pytest.mark.parametrize("report", REPORTS, ids=IDS)
def test_github_gets_one_command_a_line_and_no_other(report: Report, roots: Roots) -> None:
    lines = to_github(report, Severity.ERROR, roots).splitlines()
    assert lines[-1].startswith("eaglecfg: ")
    for line in lines[:-1]:
        found = COMMAND.fullmatch(line)
        assert found, line
        properties = dict(part.split("=", 1) for part in found[2].split(","))
        if "col" in properties:
            assert properties["line"] == properties["endLine"]
            assert int(properties["col"]) <= int(properties["endColumn"])


def test_github_reads_back_what_was_said(roots: Roots) -> None:
    lines = to_github(hostile(), Severity.ERROR, roots).splitlines()
    found = next(match for line in lines if (match := COMMAND.fullmatch(line)) and "EC201" in match[2])
    properties = dict(part.split("=", 1) for part in found[2].split(","))
    assert unescaped(properties["file"]) == "dir with space/eagle,cfg:100%#😀.yaml"
    assert unescaped(properties["title"]) == "EC201 trained-boundaries"
    assert unescaped(found[3]).splitlines()[0] == f"chat: {visible(EVIL)}"


def test_github_gets_no_more_than_it_shows_and_a_count_of_the_rest(roots: Roots) -> None:
    lines = to_github(crowded(30), Severity.ERROR, roots).splitlines()
    kinds = [line.split(" ")[0] for line in lines[:-1]]
    assert {kind: kinds.count(kind) for kind in kinds} == {"::error": 10, "::warning": 10, "::notice": 10}
    assert "20 more errors and 20 more warnings and 21 more notices" in lines[-2]
    assert lines[-1] == "eaglecfg: FAIL (exit 1): 30 errors, 30 warnings, 30 info"


def test_github_gets_errors_first_and_the_same_each_time(roots: Roots) -> None:
    text = to_github(crowded(3), Severity.ERROR, roots)
    kinds = [line.split(" ")[0] for line in text.splitlines()[:-1]]
    assert kinds == ["::error"] * 3 + ["::warning"] * 3 + ["::notice"] * 3
    assert text == to_github(crowded(3), Severity.ERROR, roots)


@pytest.mark.parametrize("report", REPORTS, ids=IDS)
def test_gitlab_gets_issues_with_all_that_it_needs(report: Report, roots: Roots) -> None:
    issues = json.loads(to_gitlab(report, roots))
    for each in issues:
        assert set(each) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert each["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert each["location"]["lines"]["begin"] >= 1
        assert not each["location"]["path"].startswith("/")
    marks = [each["fingerprint"] for each in issues]
    assert len(set(marks)) == len(marks)


def test_gitlab_counts_nothing_that_is_accepted(roots: Roots) -> None:
    report = hostile()
    incomplete = sum(skip.incomplete for skip in report.not_checked)
    assert (
        len(json.loads(to_gitlab(report, roots))) == len(report.crashes) + len(report.findings) + incomplete
    )


def test_errors_stand_in_for_reports(roots: Roots) -> None:
    assert COMMAND.fullmatch(error_github(EVIL).rstrip("\n"))
    (issue,) = json.loads(error_gitlab(EVIL, "eaglecfg.yaml", roots))
    assert issue["severity"] == "blocker"
    assert "<img" not in error_markdown(EVIL)


def shown_cell(markdown: str) -> str:
    """What a reader sees of a table's cell."""
    page = MarkdownIt("commonmark").enable("table").render(f"| h |\n|---|\n| {markdown} |\n")
    cells = re.findall(r"<td>(.*?)</td>", page, re.DOTALL)
    assert len(cells) == 1, page
    assert "<" not in cells[0].replace("<code>", "").replace("</code>", ""), page
    return html.unescape(re.sub("<[^>]*>", "", cells[0]))


@given(st.text(max_size=60) | st.text(alphabet="|`*_[]()<>&\\#@!~$-+= a1:/.", max_size=30))
def test_any_text_reads_as_it_is(text: str) -> None:
    seen = shown_cell(escaped(text)).replace("\u200b", "")
    assert seen.split() == visible(text).replace("\u200b", "").split()


@given(st.text(alphabet="|`\\ a<>&", max_size=20))
def test_any_name_reads_as_it_is_in_code(text: str) -> None:
    assert "".join(shown_cell(code_cell(text)).split()) == "".join(text.split())
    page = MarkdownIt("commonmark").render(f"### {code_span(text)}\n\n- {code_span(text)}\n")
    for seen in re.findall(r"<code>(.*?)</code>", page, re.DOTALL):
        assert "".join(html.unescape(seen).split()) == "".join(text.split())
    assert page.count("<code>") == 2


def test_open_checks_name_their_rules(real_reports: list[Report], roots: Roots) -> None:
    for report in real_reports:
        text = to_markdown(report, Severity.ERROR, roots, version="1")
        if not report.not_checked:
            continue
        listed = text.split(" not checked</summary>")[1].split("</details>")[0]
        reasons = {(skip.deployment, skip.reason) for skip in report.not_checked}
        for skip in report.not_checked if len(reasons) <= MOST_NOT_CHECKED else ():
            many = sum(skip.reason == other.reason for other in report.not_checked) > MOST_RULES
            assert f"{skip.rule.id} {skip.rule.slug}" in listed or many


@pytest.mark.parametrize(
    ("message", "files", "named"),
    [
        ("b.yaml: there is none", ["a.yaml", "b.yaml"], "b.yaml"),
        ("a.yaml: x", ["a.yaml", "a.yaml: x"], "a.yaml"),
        ("there is no rule EC9", ["conf/a.yaml", "b.yaml"], "conf/a.yaml"),
        ("there is no eaglecfg.yaml in this folder", [], "eaglecfg.yaml"),
        ("-: UTF-8 is expected", ["-"], "stdin"),
    ],
)
def test_an_error_is_at_the_file_that_it_is_about(
    roots: Roots, message: str, files: list[str], named: str
) -> None:
    text = render_error(message, 2, "gitlab", roots, version="1", files=files)
    (issue,) = json.loads(text)
    assert issue["location"]["path"] == roots.shown(named) or named == "stdin"
    assert named != "stdin" or issue["location"]["path"] == "stdin"


@pytest.mark.parametrize(
    "text",
    ["@team", "#12", "a/b#3", "!4", "~bug", "GH-5", "https://x.y", "www.x.y", ":tada:", "a@b.c", "%7", "$8"],
)
def test_hosts_find_nothing_to_link(text: str) -> None:
    for out in (shown_cell(escaped(text)), html.unescape(in_html(text))):
        assert "\u200b" in out
        assert not re.search(r"@\w|#\d|!\d|~\w|GH-\d|://|www\.|:\w+:|%\d|\$\d", out)


@pytest.mark.parametrize("report", [*REPORTS, crowded()], ids=[*IDS, "too much"])
def test_the_page_stays_within_a_comment(report: Report, roots: Roots) -> None:
    text = to_markdown(report, Severity.ERROR, roots, version="1")
    assert len(text.encode()) <= MOST_BYTES
    assert text.startswith("<!-- eaglecfg report -->\n### eaglecfg: ")
    assert text.endswith("</sub>\n")
    assert text.count("<details>") == text.count("</details>")


def test_the_page_says_how_much_it_leaves_out(roots: Roots) -> None:
    text = to_markdown(crowded(), Severity.ERROR, roots, version="1")
    rows = sum(line.startswith("| error") for line in text.splitlines())
    rows += sum(line.startswith(("| warning", "| info")) for line in text.splitlines())
    assert f"… and {1200 - rows:,} findings more" in text


def test_the_page_holds_only_markup_of_its_own(roots: Roots) -> None:
    text = to_markdown(hostile(), Severity.ERROR, roots, version="1")
    page = MarkdownIt("commonmark").enable("table").render(text)
    tags = set(re.findall(r"</?([a-z0-9]+)", page))
    assert tags <= {"h3", "p", "table", "thead", "tbody", "tr", "th", "td", "code", "details", "summary",
                    "pre", "strong", "ul", "li", "sub"}  # fmt: skip
    assert "<a " not in page
    assert page.count("<tr>") == 1 + 4
    for line in page.splitlines():
        assert len(re.findall("<td", line)) <= 1
