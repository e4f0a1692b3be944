"""Facts of one engine version, from the ranges in ``schemas/engines/<engine>/``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from eaglecfg.engines.facts import CaptureFact, DraftFact, EngineFacts, Standing
from eaglecfg.engines.flags import Flags
from eaglecfg.schema_files import read_schema, schema_root

if TYPE_CHECKING:
    from eaglecfg.schema.deployment import Engine

Row = Mapping[str, Any]

_CAPTURE_DEFAULTS = {
    "default": "third_points",
    "flags": False,
    "residual": True,
    "usable": True,
    "reason": "",
}
_RANGE = {"since", "until"}


@cache
def load_facts(name: str, version: str) -> EngineFacts | None:
    """Facts of ``name`` at ``version``, or of the nearest older version that was read.

    None: the engine is not known, or ``version`` is no version number (``latest``): what runs then could be
    any release, and these differ. A version older than all that were read gets the oldest facts.
    ``standing`` says which it is.
    """
    known = known_versions(name)
    found = stand(version, known) if known else None
    if found is None:
        return None
    facts_of, standing = found
    era = _Era(known, facts_of)
    capture = _read(name, "capture.json")
    drafts = _read(name, "drafts.json")
    values = dict(era.pick_all(_read(name, "values.json")["values"]))
    return EngineFacts(
        name=name,
        version=version,
        facts_of=facts_of,
        standing=standing,
        flags=Flags(lambda: dict(era.pick_all(_read(name, "flags.json")["flags"]))),
        captures={key: _capture(key, row) for key, row in era.pick_all(capture["classes"])},
        drafts={key: _draft(key, row) for key, row in era.pick_all(drafts["classes"])},
        values={key: row["value"] for key, row in values.items()},
        sources={key: source_of(row) for key, row in values.items()},
        architectures=frozenset(key for key, _ in era.pick_all(drafts["architectures"])),
        foreign=drafts["foreign"],
        known_versions=known,
    )


def facts_of(engine: Engine | None) -> EngineFacts | None:
    """``load_facts`` for the engine that a config names; None where it names none."""
    return None if engine is None else load_facts(engine.name, engine.version)


def known_versions(name: str) -> tuple[str, ...]:
    """The versions of engine ``name`` that were read, ascending; empty where the engine is not known."""
    # A longer name is none of ours, and some are too long for the file system to look up.
    if len(name) > 40 or not name.isidentifier() or not (schema_root() / "engines" / name).is_dir():
        return ()
    return tuple(_read(name, "versions.json")["versions"])


def rows_at(engine: str, version: str, file: str) -> Iterator[Row]:
    """The ``rows`` of a fact file of ``engine`` that hold at ``version``, in order; none where unknown."""
    known = known_versions(engine)
    return filter(_Era(known, version).holds, _read(engine, file)["rows"]) if version in known else iter(())


@cache
def rows_of(name: str, version: str, file: str) -> Mapping[str, Mapping[str, Row]]:
    """The rows of a fact file that hold at ``version``: table, key, row; empty where that is not known.

    For files that few runs need; what every run needs is in ``load_facts``.
    """
    known = known_versions(name)
    if version not in known:
        return {}
    era = _Era(known, version)
    content = _read(name, file)
    return {key: dict(era.pick_all(table)) for key, table in content.items() if isinstance(table, dict)}


def no_targets(name: str) -> frozenset[str]:
    """Classes of engine ``name`` that inherit a capture setter without being targets."""
    return frozenset(_read(name, "capture.json")["no_targets"])


@cache
def _read(engine: str, file: str) -> Any:
    """One fact file, parsed once: a look across all versions would parse it thirty times. Read-only."""
    return read_schema("engines", engine, file)


_TAGGED = re.compile(r"v?(\d[^-_]*)[-_](.+)", re.IGNORECASE)
_IMAGE = re.compile(
    r"cu\d+|cuda[\d.]*|rocm\d*|mi\d+x?|g?[bh]\d{2,3}|amd64|arm64|aarch64|x86(?:_64)?|runtime|framework|devel"
    r"|slim|base|all|xeon|xpu|cpu|npu|cann[\d.]*|910b|a[23]|musa|ubuntu[\d.]*|py\d+",
    re.IGNORECASE,
)
"""Words that container images add to a release: CUDA, ROCm or CANN build, GPU family, processor, flavour."""


def stand(version: str, known: tuple[str, ...]) -> tuple[str, Standing] | None:
    """(version whose facts apply, how ``version`` stands to it), None for what is no version number.

    ``known`` is ascending. The tag of a container image counts as the release that the image holds.
    """
    if version in known:
        return version, "known"
    from packaging.version import InvalidVersion, Version  # costs 5 ms, rarely needed

    strange: list[str] = []
    try:
        asked = Version(version)
    except InvalidVersion:
        tag = _TAGGED.fullmatch(version)
        if tag is None:
            return None
        strange = [word for word in re.split("[-_]", tag[2]) if not _IMAGE.fullmatch(word)]
        try:
            asked = Version(tag[1])
        except InvalidVersion:
            return None
    if asked.public in known:  # a leading v, or a build for another CUDA (+cu129)
        return asked.public, "development" if strange else "known"
    older = [one for one in known if Version(one) <= asked]
    nearest = older[-1] if older else known[0]
    if asked.is_prerelease or asked.is_devrelease or strange:
        return nearest, "development"
    if not older:
        return nearest, "older"
    return nearest, "newer" if nearest == known[-1] else "between"


class _Era:
    """Picks the rows that hold at one known version."""

    def __init__(self, known: tuple[str, ...], version: str) -> None:
        self._index = {one: place for place, one in enumerate(known)}
        self._at = self._index[version]

    def holds(self, row: Row) -> bool:
        until = row.get("until")
        return self._index[row["since"]] <= self._at and (until is None or self._at <= self._index[until])

    def pick(self, rows: list[Row]) -> Row | None:
        return next((row for row in rows if self.holds(row)), None)

    def pick_all(self, table: Mapping[str, list[Row]]) -> Iterator[tuple[str, Row]]:
        for key, rows in table.items():
            row = self.pick(rows)
            if row is not None:
                yield key, row


def _capture(architecture: str, row: Row) -> CaptureFact:
    given = {key: value for key, value in row.items() if key not in _RANGE}
    return CaptureFact(architecture=architecture, **{**_CAPTURE_DEFAULTS, **given})


def _draft(architecture: str, row: Row) -> DraftFact:
    given: dict[str, Any] = {key: value for key, value in row.items() if key not in _RANGE}
    given |= {key: tuple(value) for key, value in given.items() if isinstance(value, list)}
    given |= {key: frozenset(given[key]) for key in ("honours", "ignores")}
    if "passed_over" in given:
        given["passed_over"] = {name: tuple(parts) for name, parts in given["passed_over"].items()}
    return DraftFact(architecture=architecture, **given)


def source_of(row: Row) -> str:
    """Where a row was read, as sources are shown."""
    return f"{row['source']} (sglang {row['read_in']})"
