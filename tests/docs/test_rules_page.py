"""docs/rules.md is what the rules say of themselves today, and the survey is answered check by check."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from eaglecfg.cli.main import run
from eaglecfg.report.catalogue import family_of
from eaglecfg.rules.registry import ALL_RULES
from eaglecfg.rules.survey import read_survey

PAGE = Path(__file__).parents[2] / "docs" / "rules.md"
REGENERATE = "eaglecfg rules --format markdown > docs/rules.md"


@pytest.fixture(scope="module")
def fresh() -> str:
    """The page as the rules would write it now."""
    from contextlib import redirect_stdout
    from io import StringIO

    out = StringIO()
    with redirect_stdout(out):
        assert run(["rules", "--format", "markdown"]) == 0
    return out.getvalue()


def test_the_page_is_up_to_date(fresh: str) -> None:
    written = PAGE.read_text(encoding="utf-8").splitlines()
    now = fresh.splitlines()
    first = next((n for n, pair in enumerate(zip(written, now, strict=False)) if pair[0] != pair[1]), None)
    assert written == now, f"docs/rules.md is old from line {first} on; run: {REGENERATE}"


def test_every_rule_has_a_line_in_the_contents_a_section_and_two_results(fresh: str) -> None:
    for rule in ALL_RULES:
        name = f"{rule.id} {rule.slug}"
        assert f"| [{name}](#{rule.id.lower()}-{rule.slug}) | {rule.severity} | {rule.today} |" in fresh
        section = fresh.split(f"\n### {name}\n")[1].split("\n### ")[0]
        assert f"[{name}] " in section.split("**Passes:**")[0], (
            f"{name}: the failing example shows no finding"
        )
        assert f"[{name}] " not in section.split("**Passes:**")[1].replace("info", ""), name
        assert "**Why.**" in section
        assert "**Fix.**" in section


def test_families_have_a_heading_each(fresh: str) -> None:
    for family in {family_of(rule) for rule in ALL_RULES}:
        assert f"\n## Rules on {family}\n" in fresh


def test_the_page_holds_no_path_of_this_machine_and_no_time(fresh: str) -> None:
    assert tempfile.gettempdir() + "/" not in fresh
    assert str(Path.home()) + "/" not in fresh
    assert " files, 0." not in fresh


def test_code_blocks_are_closed_and_free_of_control_characters(fresh: str) -> None:
    fences = [line for line in fresh.splitlines() if line.startswith("```")]
    assert len(fences) % 2 == 0
    assert all(line.isprintable() for line in fresh.split("\n"))


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
