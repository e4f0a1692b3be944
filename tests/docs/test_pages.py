"""Every command that a page shows is run, and what stands below it is what it prints.

``python docs/run.py --write --quick docs`` writes their screens anew.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from docs.run import COMMENT, PART, ROOT, changes, renewed, screens_of, unheld, workplace

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
GENERATED = "<!-- generated: "
RUN = [page for page in PAGES if not page.read_text("utf-8").startswith(GENERATED)]
LINK = re.compile(r"(?<!!)\[[^]]*\]\(([^)\s]+)\)")
FENCED = re.compile(r"^(`{3,})[\s\S]*?^\1$", re.MULTILINE)


def name(page: Path) -> str:
    return str(page.relative_to(DOCS).with_suffix(""))


def has_commands(page: Path) -> bool:
    text = page.read_text(encoding="utf-8")
    return any(
        found["source"] or (found["body"] and "recorded" not in dict(COMMENT.findall(found["comments"])))
        for found in PART.finditer(text)
    )


@pytest.mark.parametrize("page", list(filter(has_commands, RUN)), ids=name)
def test_what_a_page_shows_is_what_its_commands_print(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    with workplace(quick=True) as place:
        now = renewed(text, place)
    found = changes(text, now)
    assert found == "", f"{page} is old; run: python docs/run.py --write --quick {page}\n{found}"


@pytest.mark.parametrize("page", RUN, ids=name)
def test_what_is_not_compared_says_why(page: Path) -> None:
    assert unheld(page.read_text(encoding="utf-8")) == []
    for screen in screens_of(page.read_text(encoding="utf-8")):
        why = [screen.recorded, screen.varies]
        assert all(len(reason.split()) > 2 for reason in why if reason), f"{page}:{screen.where}"
        assert not screen.varies or screen.holds, f"{page}:{screen.where}: nothing of it is compared"
        assert not screen.tests or screen.varies, f"{page}:{screen.where}: its output is another command's"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    for link in LINK.findall(text):
        path, _, heading = link.partition("#")
        if "://" in path:
            continue
        other = (page.parent / path).resolve() if path else page.resolve()
        assert other.exists(), f"{page}: {link}"
        assert not heading or heading in headings(other), f"{page}: {link}"


@cache
def headings(page: Path) -> set[str]:
    """Anchors of a page's headings, as GitHub makes them."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    found = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


@pytest.mark.parametrize("page", RUN, ids=name)
def test_a_page_can_be_read_in_one_go(page: Path) -> None:
    """What people wrote of it; what commands print is as long as it is."""
    text = page.read_text(encoding="utf-8")
    written = PART.sub(lambda found: "" if found["source"] or found["body"] else found[0], text)
    assert len(written.splitlines()) <= 220


def test_the_index_has_every_page_once() -> None:
    listed = [link for link in LINK.findall((DOCS / "README.md").read_text("utf-8")) if link.endswith(".md")]
    pages = {str(page.relative_to(DOCS)) for page in PAGES} - {"README.md"}
    assert sorted(listed) == sorted(page for page in pages if not page.startswith("rules/"))


def test_a_runner_that_finds_no_screen_is_no_test() -> None:
    """The pages have screens of every kind that the runner knows."""
    screens = [screen for page in RUN for screen in screens_of(page.read_text("utf-8"))]
    assert len(screens) > 30
    assert any("\n" in step.command for screen in screens for step in screen.steps)
    for kind in ("recorded", "varies", "until", "tests", "exit", "holds"):
        assert any(getattr(screen, kind) for screen in screens), kind
