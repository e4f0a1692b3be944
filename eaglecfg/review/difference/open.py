"""Which rules the later state leaves open, so that a finding that is gone is not known to be fixed."""

from __future__ import annotations

from collections.abc import Callable

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
