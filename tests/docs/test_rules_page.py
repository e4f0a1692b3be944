"""docs/rules.md and the pages below it are what the rules say of themselves today; the survey is answered."""

from __future__ import annotations

import tempfile
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from eaglecfg.cli.main import run
from eaglecfg.report.catalogue import family_of
from eaglecfg.rules.registry import ALL_RULES
from eaglecfg.rules.survey import read_survey

DOCS = Path(__file__).parents[2] / "docs"
REGENERATE = "eaglecfg rules --write docs"


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The pages as the rules would write them now, by name."""
    folder = tmp_path_factory.mktemp("docs")
    with redirect_stdout(StringIO()):
        assert run(["rules", "--write", str(folder)]) == 0
    return {str(path.relative_to(folder)): path.read_text("utf-8") for path in folder.rglob("*.md")}


def test_the_pages_are_up_to_date(fresh: dict[str, str]) -> None:
    for name, text in fresh.items():
        written, now = (DOCS / name).read_text(encoding="utf-8").splitlines(), text.splitlines()
        first = next(
            (n for n, pair in enumerate(zip(written, now, strict=False)) if pair[0] != pair[1]), None
        )
        assert written == now, f"docs/{name} is old from line {first} on; run: {REGENERATE}"


def test_there_are_no_pages_of_families_that_are_gone(fresh: dict[str, str]) -> None:
    assert {f"rules/{path.name}" for path in (DOCS / "rules").iterdir()} == fresh.keys() - {"rules.md"}


def test_every_rule_has_a_line_in_the_contents_a_section_and_two_results(fresh: dict[str, str]) -> None:
    for rule in ALL_RULES:
        name, page = f"{rule.id} {rule.slug}", f"rules/{family_of(rule)}.md"
        link = f"({page}#{rule.id.lower()}-{rule.slug})"
        assert f"| [{name}]{link} | {rule.severity} | {rule.today} |" in fresh["rules.md"]
        section = fresh[page].split(f"\n## {name}\n")[1].split("\n## ")[0]
        assert f"[{name}] " in section.split("**Passes:**")[0], (
            f"{name}: the failing example shows no finding"
        )
        assert f"[{name}] " not in section.split("**Passes:**")[1].replace("info", ""), name
        assert "**Why.**" in section
        assert "**Fix.**" in section


def test_the_pages_hold_no_path_of_this_machine_and_no_time(fresh: dict[str, str]) -> None:
    for text in fresh.values():
        assert tempfile.gettempdir() + "/" not in text
        assert str(Path.home()) + "/" not in text
        assert " files, 0." not in text


def test_code_blocks_are_closed_and_free_of_control_characters(fresh: dict[str, str]) -> None:
    for text in fresh.values():
        fences = [line for line in text.splitlines() if line.startswith("```")]
        assert len(fences) % 2 == 0
        assert all(line.isprintable() for line in text.split("\n"))


def test_every_check_of_the_survey_has_a_rule_or_a_reason() -> None:
    answered = {check for rule in ALL_RULES for check in rule.research}
    for group, checks in read_survey().items():
        for id, check in checks.items():
            assert check.about, f"{group}: {id} says nothing"
            assert (id in answered) != bool(check.left_out), (
                f"{id} wants either a rule that lists it in `research` or a reason in schemas/survey.json"
            )


def test_rules_name_only_checks_of_the_survey() -> None:
    known = {id for checks in read_survey().values() for id in checks}
    for rule in ALL_RULES:
        assert set(rule.research) <= known, f"{rule.id} names a check that schemas/survey.json does not have"


def test_some_rules_alone_can_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "EC201", "--format", "markdown"]) == 0
    page = capsys.readouterr().out
    assert "### EC201 trained-boundaries" in page
    assert "EC202 capture-ids-unreadable" not in page
