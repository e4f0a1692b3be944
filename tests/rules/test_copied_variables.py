"""Variables by their names of earlier releases, which the engine copies to the names that it reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eaglecfg.engines.copied import as_read, copies
from eaglecfg.engines.table import known_versions, load_facts
from eaglecfg.rules.examples import materialize
from eaglecfg.rules.outcome import Report, Reported
from eaglecfg.rules.runner import validate
from eaglecfg.source.read import read_document
from tests.rules.pairs import check

VERSIONS = known_versions("sglang")


def env(folder: Path, variables: dict[str, Any], engine: str = "0.5.14", **more: Any) -> Report:
    return check(folder, engine=engine, deployment={"env": variables}, **more)


def of(report: Report, *rules: str) -> list[Reported]:
    return [one for one in report.findings if one.rule.id in rules]


@pytest.mark.parametrize("version", ["0.5.4.post1", "0.5.9", "0.5.14", "0.5.18", "0.5.23"])
def test_simulated_acceptance_by_its_old_name_is_found_where_it_stands(tmp_path: Path, version: str) -> None:
    (found,) = of(env(tmp_path, {"SGL_SIMULATE_ACC_LEN": "3"}, version), "EC323")
    assert found.finding.path[-1] == "SGL_SIMULATE_ACC_LEN"
    assert "SGL_SIMULATE_ACC_LEN in the file" in found.finding.message
    assert found.finding.fix is not None
    assert found.finding.fix.path[-1] == "SGL_SIMULATE_ACC_LEN"


def test_the_old_name_wins_over_the_new_one(tmp_path: Path) -> None:
    both = {"SGLANG_SIMULATE_ACC_LEN": "-1", "SGL_SIMULATE_ACC_LEN": "3"}
    report = env(tmp_path, both)
    assert [one.finding.path[-1] for one in of(report, "EC323")] == ["SGL_SIMULATE_ACC_LEN"]
    assert of(report, "EC104")


def test_both_names_with_one_value_are_for_several_versions(tmp_path: Path) -> None:
    name = "ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
    report = env(tmp_path, {f"SGLANG_{name}": "1", f"SGL_{name}": "1"})
    assert of(report, "EC104", "EC644", "EC251") == []


def test_the_override_of_the_context_acts_by_its_old_name(tmp_path: Path) -> None:
    draft = {"config": {"max_position_embeddings": 512}}
    refused = check(tmp_path / "without", engine="0.5.14", draft=draft)
    allowed = env(tmp_path / "with", {"SGL_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "1"}, draft=draft)
    by_new = env(tmp_path / "new", {"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "1"}, draft=draft)
    severities = [[one.severity for one in of(each, "EC251")] for each in (refused, allowed, by_new)]
    assert severities[1] == severities[2] != severities[0]


def test_a_name_that_nothing_reads_under_either_spelling(tmp_path: Path) -> None:
    (found,) = of(env(tmp_path, {"SGL_SIMULATE_ACC_LENGTH": "3"}), "EC644")
    assert found.finding.path[-1] == "SGL_SIMULATE_ACC_LENGTH"


@pytest.mark.parametrize("name", ["SGL_FORCE_SHUTDOWN", "SGL_USE_DEEPGEMM_BMM"])
def test_an_old_name_that_the_engine_itself_reads_is_fine(tmp_path: Path, name: str) -> None:
    assert of(env(tmp_path, {name: "1"}), "EC644") == []


def test_a_reference_is_told_once(tmp_path: Path) -> None:
    assert len(of(env(tmp_path, {"SGL_CACHE_DIR": "${SOMEWHERE}/x"}), "EC640")) == 1


def test_a_value_from_the_launch_stays_open(tmp_path: Path) -> None:
    report = env(tmp_path, {"SGL_SIMULATE_ACC_LEN": "${SGL_SIMULATE_ACC_LEN}"})
    assert of(report, "EC323", "EC640") == []
    assert "EC323" in {one.rule.id for one in report.not_checked}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_copies_and_lets_the_old_name_win(version: str) -> None:
    facts = load_facts("sglang", version)
    assert facts is not None
    given = {"SGL_A": "1", "SGLANG_A": "2", "SGLANG_B": "3", "SGLANGX": "4", "PATH": "5"}
    assert copies(facts, given) == {"SGLANG_A": "SGL_A"}
    assert as_read(facts, given) == {**given, "SGLANG_A": "1"}
    assert "srt/environ.py:" in facts.sources["copied_variables"]


def test_names_that_a_version_renames() -> None:
    renamed = {"SGLANG_USE_JIT_ALL_REDUCE": "1"}
    seen = {}
    for version in ("0.5.11", "0.5.12", "0.5.20", "0.5.21"):
        facts = load_facts("sglang", version)
        assert facts is not None
        seen[version] = "SGLANG_OPT_USE_CUSTOM_ALL_REDUCE_V2" in as_read(facts, renamed)
    assert seen == {"0.5.11": False, "0.5.12": True, "0.5.20": True, "0.5.21": False}


def test_a_study_sees_the_old_name_around_its_launches(tmp_path: Path) -> None:
    launch = {"env": {"SGL_SIMULATE_ACC_LEN": "2.5"}}
    materialize({"study": {"launch": launch}}, tmp_path)
    (found,) = of(validate([read_document(tmp_path / "study.yaml")]), "EC714")
    assert found.finding.path == ("launch", "env", "SGL_SIMULATE_ACC_LEN")
