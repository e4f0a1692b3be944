"""The survey behind the rules: every known way to get a deployment wrong, by check id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from eaglecfg.schema_files import read_schema


@dataclass(frozen=True, slots=True)
class SurveyCheck:
    """One check: what it is about, and the reason where no rule answers it."""

    about: str
    left_out: str = ""


Survey = Mapping[str, Mapping[str, SurveyCheck]]
"""Group -> check id -> check, in the survey's order."""


def read_survey() -> Survey:
    """The checks of ``schemas/survey.json``; only the catalogue and the tests read them."""
    return {
        group: {id: SurveyCheck(row["about"], row.get("left_out", "")) for id, row in checks.items()}
        for group, checks in read_schema("survey.json").items()
    }
