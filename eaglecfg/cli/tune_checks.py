"""What ``eaglecfg tune`` asks the rules about its files before anything is launched."""

from __future__ import annotations

from pathlib import Path

from eaglecfg.cli.output import tell
from eaglecfg.errors import UsageError
from eaglecfg.rules.model import Severity
from eaglecfg.schema.load_study import kind_of
from eaglecfg.source.document import Document
from eaglecfg.source.read import read_document
from eaglecfg.source.span import KeyPath
from eaglecfg.tune.opened import Opened


def refuse_study(shown: str) -> None:
    """Raise UsageError for a study file with error findings, which are printed one a line."""
    document = read_document(Path(shown), shown=shown)
    if kind_of(document) == "study":
        _refuse(document)


def refuse_config(opened: Opened) -> None:
    """The same for the config file; its deployments are judged setting by setting. The engine has to be known
    for that."""
    _refuse(opened.config.document)
    if opened.facts is None:
        engine = opened.config.engine
        named = f"{engine.name} {engine.version}" if engine is not None else "no engine"
        raise UsageError(
            f"{opened.config.document.name}: expected an engine whose facts are known, got {named}: no "
            f"setting can be checked before it is launched; --launch-anyway launches all of them."
        )


def _refuse(document: Document) -> None:
    from eaglecfg.record import replace
    from eaglecfg.report.concise import render
    from eaglecfg.rules.registry import chosen
    from eaglecfg.rules.runner import validate

    ids = [rule.id for rule in chosen() if rule.scope in ("file", "study")]
    report = validate([document], select=ids)
    errors = tuple(found for found in report.findings if found.severity is Severity.ERROR)
    if not errors:
        return
    for each in render(replace(report, findings=errors, not_checked=(), more={})):
        tell("".join(part.text for part in each))
    count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
    hint = ""
    if any(found.rule.id == "EC704" and _is_block(document, found.finding.path) for found in errors):
        hint = "; for a range write {low: 1, high: 4, step: 1}"
    raise UsageError(f"{document.name}: {count}{hint}; nothing is launched (--launch-anyway overrides)")


def _is_block(document: Document, path: KeyPath) -> bool:
    """Whether a mapping stands under ``path``."""
    value = document.data
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return False
    return isinstance(value, dict)
