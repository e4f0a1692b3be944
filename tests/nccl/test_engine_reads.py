"""Variables of the engine's whose text it cannot read, by the reader that each version has for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from eaglecfg.engines.table import known_versions, load_facts
from eaglecfg.nccl.engine_reads import misread
from eaglecfg.rules.model import Today
from eaglecfg.rules.outcome import Reported
from eaglecfg.schema_files import read_schema
from tests.rules.pairs import check

VERSIONS = known_versions("sglang")
CONTEXT = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"


def told(folder: Path, engine: str, name: str, text: str) -> list[Reported]:
    report = check(folder, engine=engine, deployment={"env": {name: text}})
    return [one for one in report.findings if one.rule.id == "EC645"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_switch_of_every_version(version: str) -> None:
    facts = load_facts("sglang", version)
    assert facts is not None
    read = {
        text: misread(facts, CONTEXT, text) is None for text in ("1", "Yes", "n", "FALSE", "", "on", "off")
    }
    assert read == {"1": True, "Yes": True, "n": True, "FALSE": True, "": True, "on": False, "off": False}


@pytest.mark.parametrize(
    ("engine", "name", "text", "severity"),
    [
        ("0.5.9", "SGLANG_ENABLE_SPEC_V2", "on", "warning"),
        ("0.5.9", "SGLANG_ENABLE_SPEC_V2", "off", "info"),  # it is off by default there
        ("0.5.12", "SGLANG_ENABLE_SPEC_V2", "off", "warning"),  # and on here
        ("0.5.12", "SGLANG_ENABLE_SPEC_V2", "enabled", "info"),
        ("0.5.23", CONTEXT, "enabled", "warning"),
        ("0.5.23", CONTEXT, "maybe", "warning"),
        ("0.5.23", "SGLANG_SIMULATE_ACC_LEN", "three", "warning"),
        ("0.5.23", "SGLANG_DP_USE_GATHERV", "yes", "warning"),  # true and 1 alone
        ("0.5.23", "SGLANG_DP_USE_GATHERV", "no", "info"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, engine: str, name: str, text: str, severity: str) -> None:
    (one,) = told(tmp_path, engine, name, text)
    assert one.severity.value == severity
    assert f"{name}={text}" in one.finding.message
    assert one.finding.evidence


@pytest.mark.parametrize(
    ("engine", "name", "text"),
    [
        ("0.5.9", "SGLANG_ENABLE_SPEC_V2", "y"),
        ("0.5.23", "SGLANG_ENABLE_SPEC_V2", "on"),  # this version has no such variable
        ("0.5.23", CONTEXT, ""),
        ("0.5.23", CONTEXT, f"${{{CONTEXT}}}"),
        ("0.5.23", "SGLANG_SIMULATE_ACC_LEN", " 2.5 "),
        ("0.5.23", "SGLANG_SIMULATE_ACC_METHOD", "match-expected"),
        ("0.5.23", "SGLANG_CACHE_DIR", "on"),
        ("0.5.23", "SGLANG_USE_AITER", "true"),
        ("0.5.23", "SGLANG_NO_SUCH_THING", "on"),
        ("0.5.23", "OMP_PROC_BIND", "on"),
        ("0.5.14", "SGLANG_STAGING_USE_TORCH", "on"),  # any text is on
        ("0.5.14", "SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION", "8192"),
        ("0.5.8", "SGLANG_GRAMMAR_TIMEOUT", "5m"),
    ],
)
def test_what_is_read_or_not_known(tmp_path: Path, engine: str, name: str, text: str) -> None:
    assert told(tmp_path, engine, name, text) == []


@pytest.mark.parametrize(
    ("engine", "name", "text"),
    [
        ("0.5.4.post1", "SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION", "4k"),
        ("0.5.23", "SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION", "4096.0"),
        ("0.5.14", "SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION", ""),
        ("0.5.14", "SGL_CLIP_MAX_NEW_TOKENS_ESTIMATION", "abc"),
        ("0.5.7", "SGLANG_GRAMMAR_TIMEOUT", "5m"),
        ("0.5.14", "SGLANG_HEALTH_CHECK_TIMEOUT", "20s"),
    ],
)
def test_what_is_read_without_a_guard_stops_the_server(
    tmp_path: Path, engine: str, name: str, text: str
) -> None:
    (one,) = told(tmp_path, engine, name, text)
    assert (one.severity.value, one.finding.today) == ("error", Today.CRASH_AT_START)


def test_by_its_old_name(tmp_path: Path) -> None:
    (one,) = told(tmp_path, "0.5.9", "SGL_ENABLE_SPEC_V2", "on")
    assert one.finding.path[-1] == "SGL_ENABLE_SPEC_V2"


def test_every_row_says_how_and_where() -> None:
    table = read_schema("engines", "sglang", "environment_types.json")["variables"]
    assert len(table) > 700
    for name, rows in table.items():
        assert name.startswith("SGLANG_")
        for row in rows:
            assert row["kind"] in ("bool", "int", "float", "switch", "mixed")
            assert row["since"] in VERSIONS
            assert row.get("until", VERSIONS[-1]) in VERSIONS
            assert row["source"].rpartition(":")[2].isdigit()
            assert isinstance(row.get("default"), bool | int | float | None)
