"""What a study file asks for, as values that can be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eaglecfg.review.difference.effect import Fact, Facts, plain
from eaglecfg.schema.load_study import load_study
from eaglecfg.source.document import Document
from eaglecfg.source.secrets import redact_data


def study_facts(document: Document) -> Facts:
    """The settings of a study with its defaults; empty for a file that is no study."""
    model = load_study(document).model
    if model is None:
        return {}
    found = dict(_flat(model.model_dump(mode="python", exclude={"version", "suppress"})))
    return {("study", name): _fact(name, value) for name, value in found.items()}


def _fact(name: str, value: Any) -> Fact:
    shown = redact_data({name: value})[name]
    # Each baseline is launched as one, however often it is named.
    key = sorted(set(map(str, value))) if name == "baselines" else value
    return Fact("study", name, key, shown, plain(shown))


def _flat(data: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Blocks taken apart one level deep; a range of the space is one value."""
    for name, value in data.items():
        if isinstance(value, Mapping) and not prefix:
            yield from _flat(value, f"{name}.")
        elif value is not None:
            yield f"{prefix}{name}", value
