"""Which rules a state leaves open, so that a finding that is gone is not known to be fixed, nor one that is
there now to be new."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from eaglecfg.rules.outcome import Report, Reported
from eaglecfg.schema.load import load_config
from eaglecfg.schema.load_study import kind_of, load_study
from eaglecfg.source.document import Document


def left_open(now: Report, old: Document | None, new: Document) -> Callable[[Reported], bool]:
    """Whether a finding of ``old`` that ``new`` does not have may be there all the same.

    Its rule was not decided, or only left out as a consequence of another; or the schema refuses a value of
    its deployment that it took before, or all of the file.
    """
    if not isinstance(new.data, dict):
        return lambda _: True
    skipped = {(each.rule.id, each.deployment) for each in now.not_checked if each.document is new}
    skipped |= {(each.rule.id, each.deployment) for each in now.dropped}
    doubtful = _doubtful(old, new)
    return lambda found: (
        (found.rule.id, found.deployment) in skipped
        or (found.rule.scope != "file" and found.deployment in doubtful)
    )


def not_seen(was: Report, old: Document | None, renamed: Mapping[str, str]) -> Callable[[Reported], bool]:
    """Whether a finding of the later state may have been in ``old`` all the same.

    Its rule was not decided there, in a deployment of which something could not be read. ``renamed`` tells
    the new names of deployments.
    """
    if old is None:
        return lambda _: False
    unread = {each.deployment for each in was.not_checked if each.incomplete and each.document is old}
    unread |= {each.deployment for each in was.findings if each.finding.incomplete and each.document is old}
    skipped = {(each.rule.id, each.deployment) for each in was.not_checked if each.document is old}
    skipped |= {(each.rule.id, each.deployment) for each in was.dropped}
    names = {new: name for name, new in renamed.items()}

    def seen_nowhere(found: Reported) -> bool:
        name = names.get(found.deployment or "", found.deployment)
        return name in unread and (found.rule.id, name) in skipped

    return seen_nowhere


def _doubtful(old: Document | None, new: Document) -> set[str | None]:
    """Deployments of which the schema refuses more than before; None stands for a study."""
    if kind_of(new) == "study":
        then = load_study(old).refused if old is not None and isinstance(old.data, dict) else frozenset()
        study = load_study(new)
        return {None} if study.model is None or study.refused - then else set()
    before = load_config(old).deployments if old is not None and isinstance(old.data, dict) else ()
    known = {each.name: each.refused for each in before}
    after = load_config(new)
    found: set[str | None] = {
        each.name for each in after.deployments if each.refused - known.get(each.name, frozenset())
    }
    written = new.data.get("deployments")
    names = set(map(str, written)) if isinstance(written, dict) else set()
    return found | (names - {each.name for each in after.deployments})
