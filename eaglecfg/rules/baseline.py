"""Old findings: a file that lists them by fingerprint, so that only new ones count."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from eaglecfg.errors import UsageError
from eaglecfg.record import record, replace
from eaglecfg.rules.fingerprint import VERSION, fingerprints
from eaglecfg.rules.model import Rule
from eaglecfg.rules.outcome import BaselineUse, Report, Reported, Stale
from eaglecfg.rules.registry import ALL_RULES
from eaglecfg.rules.suppression import Ran
from eaglecfg.source.document import Document
from eaglecfg.source.limits import MAX_BYTES
from eaglecfg.source.span import show_path

KIND = "eaglecfg-baseline"
STDIN = "-"
_TEXTS = ("rule", "fingerprint", "file", "path", "message")

Entry = tuple[str, str]
"""File, from the baseline's folder, and fingerprint: what tells findings apart."""


@record
class Baseline:
    """A baseline as read. ``file`` as the user named it, ``folder`` where its file names count from."""

    file: str
    folder: Path
    entries: tuple[Stale, ...]


def read_baseline(name: str) -> Baseline:
    """The baseline file ``name``. Raises UsageError where there is none or it is something else."""
    if name == STDIN:
        raise UsageError("a baseline is read from a file, and - is none; name the file")
    try:
        with Path(name).open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise UsageError(f"{name}: there is no such baseline; --write-baseline {name} makes one") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{name}: the baseline cannot be read ({reason})") from None
    return Baseline(name, Path(os.path.realpath(name)).parent, tuple(_entries(name, raw)))


def is_baseline(path: Path) -> bool:
    """Whether ``path`` is a baseline, of whatever version, which a new one may take the place of."""
    try:
        data = json.loads(path.read_bytes()[: MAX_BYTES + 1])
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(data, dict) and data.get("kind") == KIND


def with_baseline(report: Report, baseline: Baseline, rules: Collection[Rule]) -> Report:
    """``report`` with the findings that stand in ``baseline`` set aside. ``rules`` are those that ran.

    Findings about the text of a file stay, and so do those of a rule that has more than are listed.
    """
    listed = {(entry.file, entry.fingerprint) for entry in baseline.entries}
    marked = _marked(report.findings, baseline.folder)
    known = [found for found, entry in marked if entry in listed and _may_stand(found, report)]
    ids = {id(found) for found in known}
    every = (*report.findings, *(each.found for each in report.accepted))
    seen = {entry for _, entry in _marked(every, baseline.folder)}
    use = BaselineUse(baseline.file, tuple(known), tuple(_stale(report, baseline, seen, rules)))
    return replace(
        report,
        findings=tuple(found for found in report.findings if id(found) not in ids),
        baseline=use,
    )


def still_open(report: Report, old: Baseline, rules: Collection[Rule]) -> tuple[Stale, ...]:
    """The entries of ``old`` that this run says nothing about: of other files, deployments and rules."""
    seen = {entry for _, entry in _marked(report.findings, old.folder)}
    gone = set(_stale(report, old, seen, rules))
    accepted = {entry for _, entry in _marked([each.found for each in report.accepted], old.folder)}
    return tuple(
        entry
        for entry in old.entries
        if (entry.file, entry.fingerprint) not in seen | accepted and entry not in gone
    )


def baseline_text(report: Report, folder: Path, kept: Sequence[Stale] = ()) -> str:
    """A baseline of all that counts in ``report``, and of ``kept``, to be written into ``folder``."""
    marked = [pair for pair in _marked(report.findings, folder) if _may_stand(pair[0], report)]
    entries = [
        _as_data(Stale(f.rule.id, mark, file, show_path(f.finding.path), f.finding.message, f.deployment))
        for f, (file, mark) in marked
    ]
    entries += [_as_data(each) for each in kept]
    order = ("file", "deployment", "rule", "path", "fingerprint")
    entries.sort(key=lambda entry: tuple(str(entry[key]) for key in order))
    data = {"kind": KIND, "version": 1, "fingerprint": VERSION, "findings": entries}
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _as_data(entry: Stale) -> dict[str, str | None]:
    return {
        "rule": entry.rule,
        "file": entry.file,
        "deployment": entry.deployment,
        "path": entry.path,
        "fingerprint": entry.fingerprint,
        "message": entry.message,
    }


def _may_stand(found: Reported, report: Report) -> bool:
    return found.rule.id >= "EC100" and not report.more.get(found.rule.id)


def _marked(findings: Sequence[Reported], folder: Path) -> list[tuple[Reported, Entry]]:
    marks = zip(findings, fingerprints(findings), strict=True)
    return [(found, (_from(found.document, folder), mark)) for found, mark in marks]


def _from(document: Document, folder: Path) -> str:
    """The file of ``document`` as a baseline in ``folder`` names it."""
    if document.name == STDIN:
        return STDIN
    full = os.path.realpath(Path(document.folder) / Path(document.name).name)
    return Path(os.path.relpath(full, folder)).as_posix()


def _stale(
    report: Report, baseline: Baseline, seen: Collection[Entry], rules: Collection[Rule]
) -> list[Stale]:
    ids = frozenset(rule.id for rule in rules)
    every = {rule.id for rule in ALL_RULES}
    ran = Ran(
        ids, frozenset(report.deployments), report.not_checked, report.dropped, report.crashes, report.more
    )
    files = {_from(document, baseline.folder): document for document in report.documents}
    out = []
    for entry in baseline.entries:
        document = files.get(entry.file)
        if document is None and _lost(baseline.folder, entry.file):
            out.append(entry)
            continue
        if document is None or not isinstance(document.data, dict) or (entry.file, entry.fingerprint) in seen:
            continue
        held = document.data.get("deployments")
        gone = entry.deployment is not None and not (isinstance(held, dict) and entry.deployment in held)
        if gone or entry.rule not in every or ran.decided(entry.rule, document, entry.deployment):
            out.append(entry)
    return out


def _lost(folder: Path, file: str) -> bool:
    """Whether a file that a baseline in ``folder`` names is not there any more."""
    try:
        return file != STDIN and not (folder / file).exists()
    except (OSError, ValueError):
        return True


def _entries(name: str, raw: bytes) -> list[Stale]:
    if len(raw) > MAX_BYTES:
        raise UsageError(f"{name}: at most {MAX_BYTES:,} bytes are expected, the file is larger")
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        raise UsageError(f"{name}: a baseline is expected, this is not JSON") from None
    if not isinstance(data, dict) or data.get("kind") != KIND:
        raise UsageError(f'{name}: a baseline is expected, with "kind": "{KIND}"; this is another file')
    if data.get("version") != 1 or data.get("fingerprint") != VERSION:
        raise UsageError(
            f"{name}: version 1 with fingerprints {VERSION} is expected, this is version "
            f"{str(data.get('version'))[:20]} with {str(data.get('fingerprint'))[:20]}; write it anew"
        )
    found = data.get("findings")
    if not isinstance(found, list):
        raise UsageError(f"{name}: findings is expected to be a list; write the file anew")
    return [_entry(name, number, each) for number, each in enumerate(found)]


def _entry(name: str, number: int, each: Any) -> Stale:
    given = each if isinstance(each, dict) else {}
    texts = {key: text for key in _TEXTS if isinstance(text := given.get(key), str)}
    deployment = given.get("deployment")
    if len(texts) < len(_TEXTS) or not isinstance(deployment, str | None):
        keys = ", ".join(_TEXTS)
        raise UsageError(f"{name}: findings[{number}] is expected to have the texts {keys}; write it anew")
    return Stale(**texts, deployment=deployment)
