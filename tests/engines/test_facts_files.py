from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from eaglecfg.engines.capture import RULES
from eaglecfg.schema_files import read_schema

VERSIONS: list[str] = read_schema("engines", "sglang", "versions.json")["versions"]
PLACE = re.compile(r"^[\w./-]+:\d+$")


ATTENTION = ("mla", "dsa", "takes", "gpus", "class_backends", "defaults", "values")


def tables() -> Iterator[tuple[str, Mapping[str, list[dict[str, Any]]]]]:
    for file, key in (
        ("capture.json", "classes"),
        ("drafts.json", "classes"),
        ("drafts.json", "architectures"),
        ("quantized.json", "linear"),
        ("quantized.json", "flag_on_plain"),
        ("quantized.json", "head"),
        ("quantized.json", "asked_as"),
        ("quantized.json", "spared"),
        ("values.json", "values"),
        ("modules.json", "modules"),
        ("flags.json", "flags"),
        *(("attention.json", name) for name in ATTENTION),
    ):
        yield f"{file} {key}", read_schema("engines", "sglang", file)[key]


ROWS = [
    pytest.param(rows, id=f"{table} {name}")
    for table, content in tables()
    for name, rows in content.items()
    if table != "flags.json flags"
]


def test_the_versions_read_are_ascending_and_start_where_the_product_starts() -> None:
    assert VERSIONS[0] == "0.5.4.post1"
    assert VERSIONS[-1] == "0.5.23"
    assert {"0.5.12", "0.5.14"} < set(VERSIONS)
    assert len(set(VERSIONS)) == len(VERSIONS)


@pytest.mark.parametrize("rows", ROWS)
def test_ranges_name_known_versions_and_do_not_overlap(rows: list[dict[str, Any]]) -> None:
    assert overlaps(rows) == []


def test_ranges_of_flags_name_known_versions_and_do_not_overlap() -> None:
    flags = read_schema("engines", "sglang", "flags.json")["flags"]
    assert [name for name, rows in flags.items() if overlaps(rows)] == []


def overlaps(rows: list[dict[str, Any]]) -> list[str]:
    """Versions that more than one row claims. Raises ValueError for a version that was never read."""
    claimed: list[str] = []
    for row in rows:
        first = VERSIONS.index(row["since"])
        last = VERSIONS.index(row["until"]) if "until" in row else len(VERSIONS) - 1
        assert first <= last
        claimed += VERSIONS[first : last + 1]
    return sorted({one for one in claimed if claimed.count(one) > 1})


def test_every_fact_names_its_source() -> None:
    nameless = [
        (table, name)
        for table, content in tables()
        if table != "drafts.json architectures"
        for name, rows in content.items()
        for row in rows
        if not PLACE.match(row.get("source") or "")
    ]
    assert nameless == []


def test_every_source_was_read_in_a_known_wheel_inside_its_range() -> None:
    strays = []
    for table, content in tables():
        if table in ("drafts.json architectures", "flags.json flags"):
            continue
        for name, rows in content.items():
            for row in rows:
                first = VERSIONS.index(row["since"])
                last = VERSIONS.index(row["until"]) if "until" in row else len(VERSIONS) - 1
                if not first <= VERSIONS.index(row["read_in"]) <= last:
                    strays.append((table, name, row["since"]))
    assert strays == []


def test_capture_rows_use_known_words() -> None:
    for name, rows in read_schema("engines", "sglang", "capture.json")["classes"].items():
        for row in rows:
            assert row["rule"] in RULES, name
            assert row["embedding"] in ("captured", "crash"), name
            assert row["last"] in ("captured", "short", "crash_at_start"), name
            assert row.get("usable", True) or (row["reason"] and row["outcome"]), name


def test_a_class_that_delegates_says_the_same_as_the_class_it_delegates_to() -> None:
    classes = read_schema("engines", "sglang", "capture.json")["classes"]
    told = ("rule", "embedding", "last", "flags", "residual", "deferred", "packer", "source")
    for rows in classes.values():
        for row in rows:
            for other in classes.get(row.get("delegates", ""), ()):
                if (other["since"], other.get("until")) == (row["since"], row.get("until")):
                    assert {key: row.get(key) for key in told} == {key: other.get(key) for key in told}
